create table syslog_table (
    tm   timestamp,
    n1   smallint,
    n2   int,
    n3   bigint,
    n4   float,
    n5   double,
    host varchar(128),
    msg  varchar(512),
    ip4  ipv4 text,
    ip6  ipv6 text
)
