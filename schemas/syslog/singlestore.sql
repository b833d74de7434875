create table syslog_table (
    tm   datetime(6),
    n1   smallint,
    n2   int,
    n3   bigint,
    n4   float,
    n5   double,
    host varchar(128),
    msg  varchar(512),
    ip4  varbinary(4) comment 'ipv4',
    ip6  varbinary(16) comment 'ipv6'
)
