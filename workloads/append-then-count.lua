-- What append does without a workload, as a script: a session appends a batch of
-- rows to syslog_table and counts the table, until its share of RECORDS is in.
--
--     append 1000 10M 5432 --workload append-then-count

local batch = param("batch", 100, "rows in one append", {min = 1})

local log = dataset("syslog_table") -- no columns: the table is there, or the built-in one is made

transaction("append", function()
    log:append(batch)
    log:count() -- held against the session's own rows: it reads its writes
end, {autocommit = true})
