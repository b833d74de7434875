create table syslog_table (
    tm   DateTime,
    n1   Int16,
    n2   Int32,
    n3   Int64,
    n4   Float32,
    n5   Float64,
    host String comment 'varchar(128)',
    msg  String comment 'varchar(512)',
    ip4  UInt32 comment 'ipv4',
    ip6  FixedString(16) comment 'ipv6'
) ENGINE = MergeTree() ORDER BY (n1, n2, n3)
