POST /_api/collection {"name": "syslog_table"}
