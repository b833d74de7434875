create table syslog_table (
    tm   timestamp,
    n1   smallint,
    n2   integer,
    n3   bigint,
    n4   real,
    n5   double precision,
    host varchar(128),
    msg  varchar(512),
    ip4  inet,
    ip6  inet
)
