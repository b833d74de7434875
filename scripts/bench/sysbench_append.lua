-- Makes sysbench do the same as append: the INSERT in a file, then count(*) unless --count=off.

sysbench.cmdline.options = {
    insert_file = {"File with one INSERT"},
    count = {"Whether select count(*) follows each INSERT", true},
}

local connection, insert

function thread_init()
    local file = assert(io.open(sysbench.opt.insert_file, "r"))
    insert = file:read("*a")
    file:close()
    connection = sysbench.sql.driver():connect()
end

function event()
    connection:query(insert)
    if sysbench.opt.count then
        connection:query_row("select count(*) from syslog_table")
    end
end

function thread_done()
    connection:disconnect()
end
