-- pgbench's built-in scripts: tpcb-like (5 statements besides BEGIN and COMMIT),
-- simple-update (-N: 3 of them) and select-only (-S: 1, no transaction). The
-- sums of the balances of accounts, tellers and branches, and of delta in the
-- history, stay equal.
--
--     append prepare 4 5432 --workload tpcb --set scale=10
--     append 10 5432 --workload tpcb --set scale=10 --duration 60s
--     append 10 5432 --workload tpcb --set scale=10,mode=select-only -T 60s
--     append prepare 4 5432 --workload tpcb --set partitions=8,foreign_keys=true

local mode = param("mode", "tpcb-like", "the script of pgbench",
    {"tpcb-like", "simple-update", "select-only"})
local scale = param("scale", 1, "number of branches, each with 10 tellers and 100,000 accounts",
    {min = 1, max = 200000000})
local partitions = param("partitions", 0, "partitions of the table of accounts; 0: none",
    {min = 0, max = 8192})
local method = param("partition_method", "range", "how the accounts are divided", {"range", "hash"})
local has_keys = param("foreign_keys", false, "declare foreign keys between the tables")
local is_whole = mode == "tpcb-like"
local is_reading = mode == "select-only"

local tellers = 10
local accounts = 100000
local aid_type = scale < 20000 and "int32" or "int64"
local zero = uniform(0, 0)

-- The branch of a row, when each has so many rows.
local function branch(rows)
    return derive(row(0), function(i) return i // rows + 1 end)
end

-- The foreign keys of a table; none without the parameter.
local function keys_to(columns)
    return has_keys and columns or {}
end

local branches = dataset("pgbench_branches", scale, {
    {"bid", "int32", row(), key = true},
    {"bbalance", "int32", zero},
    {"filler", "char(88)"},
})
local teller_rows = dataset("pgbench_tellers", scale * tellers, {
    {"tid", "int32", row(), key = true},
    {"bid", "int32", branch(tellers)},
    {"tbalance", "int32", zero},
    {"filler", "char(84)"},
}, {foreign_keys = keys_to({bid = branches})})
local account_rows = dataset("pgbench_accounts", scale * accounts, {
    {"aid", aid_type, row(), key = true},
    {"bid", "int32", branch(accounts)},
    {"abalance", "int32", zero},
    {"filler", "char(84)", pattern(" ")},
}, {
    partitions = {by = method, column = "aid", count = partitions},
    foreign_keys = keys_to({bid = branches}),
})
local history = dataset("pgbench_history", 0, {
    {"tid", "int32"},
    {"bid", "int32"},
    {"aid", aid_type},
    {"delta", "int32"},
    {"mtime", "timestamp"},
    {"filler", "char(22)"},
}, {foreign_keys = keys_to({bid = branches, tid = teller_rows, aid = account_rows})})

local aid = uniform(1, scale * accounts)
local bid = uniform(1, scale)
local tid = uniform(1, scale * tellers)
local delta = uniform(-5000, 5000)

-- A statement that this mode does not run is not prepared.
local balance = statement("select",
    "SELECT abalance FROM pgbench_accounts WHERE aid = ?", {aid_type})
local account, teller, branch_sum, insert
if not is_reading then
    account = statement("account",
        "UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?", {"int32", aid_type})
    insert = statement("history",
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
            .. " VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)",
        {"int32", "int32", aid_type, "int32"}, {adds_to = history})
end
if is_whole then
    teller = statement("teller",
        "UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?", {"int32", "int32"})
    branch_sum = statement("branch",
        "UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?", {"int32", "int32"})
end

-- SQLite checks foreign keys only in sessions that say so.
if has_keys then
    local check_keys = statement("foreign_keys",
        {sqlite = "PRAGMA foreign_keys = ON", default = "SELECT 1"})
    on_session(function()
        if session.dialect == "sqlite" then
            check_keys:run()
        end
    end)
end

transaction(mode, function()
    if is_reading then
        balance:run(aid)
        return
    end
    local a, b, t, d = aid(), bid(), tid(), delta()
    account:run(d, a)
    balance:run(a)
    if is_whole then
        teller:run(d, t)
        branch_sum:run(d, b)
    end
    insert:run(t, b, a, d)
end, {autocommit = is_reading})

-- The other sums are not compared: pgbench empties the history before a run, and simple-update
-- changes the accounts alone.
if is_whole then
    invariant("the balances of tellers and of branches have the same sum", [[
        SELECT t.total, b.total FROM (SELECT SUM(tbalance) AS total FROM pgbench_tellers) t,
            (SELECT SUM(bbalance) AS total FROM pgbench_branches) b
        WHERE t.total <> b.total]])
end
