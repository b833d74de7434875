create table syslog_table (
    tm   timestamp,
    n1   short,
    n2   int,
    n3   long,
    n4   float,
    n5   double,
    host varchar,
    msg  varchar,
    ip4  ipv4,
    ip6  varchar
) timestamp(tm) partition by day wal
