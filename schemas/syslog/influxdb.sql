-- a measurement comes into being with its first row: nothing has to be made
show measurements with measurement = "syslog_table"
