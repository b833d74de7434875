-- Reads or changes n rows at once: with a join to a temporary table, with an IN
-- list, or with one UPDATE for each row.
--
--     append prepare 16 3306 --workload batch
--     append sweep --sessions 5,10,50,100,200 3306 --workload batch -T 60s

local how = param("how", "in_select", "statements that read or change the rows",
    {"temp_select", "in_select", "temp_update", "row_update"})
local rows = param("rows", 10000000, "rows of dbatest", {min = 1})
local n = param("n", 20, "rows that a transaction reads or changes", {min = 1, max = 10000})

dataset("dbatest", rows, {
    {"i", "int32", row(), key = "auto"},
    {"c1", "int32", uniform(0, 1000000)},
    {"c2", "int32", uniform(0, 1000000)},
    {"c3", "text(255)", text(100)},
})

local id = uniform(1, rows)
local tmp = "tmp_dbatest_${session}"
local unprepared = {prepared = false} -- the temporary table comes and goes
local ints = {}
for k = 1, n do
    ints[k] = "int32"
end

-- The statements of one way only are declared: no other is prepared.
local body
if how == "in_select" then
    local within = statement("select",
        "SELECT a.i, a.c1, a.c2 FROM dbatest a WHERE a.i IN (" .. list(n, "?") .. ")", ints)
    function body(ids)
        check(within:run(ids) == n, "n rows")
    end
elseif how == "row_update" then
    local update = statement("update",
        "UPDATE dbatest SET c1 = c1 + 10, c2 = c2 + 10000 WHERE i = ?", {"int32"})
    function body(ids)
        for k = 1, n do
            update:run(ids[k])
        end
    end
else
    local drop = statement("drop", "DROP TABLE IF EXISTS " .. tmp, {}, unprepared)
    local create = statement("create", {
        default = "CREATE TEMPORARY TABLE " .. tmp .. " (i INT NOT NULL, PRIMARY KEY (i))",
        mariadb = "CREATE TEMPORARY TABLE " .. tmp
            .. " (i INT NOT NULL, PRIMARY KEY (i)) ENGINE=MEMORY",
    }, {}, unprepared)
    local fill = statement("fill", "INSERT INTO " .. tmp .. " VALUES " .. list(n, "(?)"), ints,
        unprepared)
    local join
    if how == "temp_select" then
        join = statement("select",
            "SELECT a.i, a.c1, a.c2 FROM dbatest a INNER JOIN " .. tmp .. " b ON a.i = b.i", {},
            unprepared)
    else
        join = statement("update", {
            default = "UPDATE dbatest SET c1 = c1 + 10, c2 = c2 + 10000 FROM " .. tmp
                .. " b WHERE dbatest.i = b.i",
            mariadb = "UPDATE dbatest a INNER JOIN " .. tmp
                .. " b ON a.i = b.i SET a.c1 = a.c1 + 10, a.c2 = a.c2 + 10000",
        }, {}, unprepared)
    end
    function body(ids)
        drop:run()
        create:run()
        fill:run(ids)
        check(join:run() == n, "n rows")
    end
end

transaction(how, function()
    body(distinct(n, id)) -- n different keys
end, {tries = 10})
