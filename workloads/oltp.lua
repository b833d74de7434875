-- sysbench's oltp_*: reads of points and ranges by primary key, updates, delete
-- and insert. A transaction has 18 statements (read_write), 14 (read_only), 4
-- (write_only) or 1 (point_select), besides BEGIN and COMMIT; with extra_update
-- 19, as in sysbench 0.4.
--
--     append prepare 16 5432 --workload oltp --set tables=4,table_size=1M
--     append 100 5432 --workload oltp --set tables=4,table_size=1M --duration 60s
--     append 100 5432 --workload oltp --set mode=read_only,skip_trx=true -T 60s

local mode = param("mode", "read_write", "which statements a transaction has",
    {"read_write", "read_only", "write_only", "point_select"})
local is_point = mode == "point_select"
local reads = mode ~= "write_only"
local writes = mode == "read_write" or mode == "write_only"

local some, any = {min = 1}, {min = 0}
local tables = param("tables", 1, "number of tables: sbtest1, sbtest2, ...", some)
local size = param("table_size", 10000, "rows of each table", some)
local range = param("range_size", 100, "rows in a range", some)
local points = param("point_selects", is_point and 1 or 10,
    "SELECTs by primary key in a transaction", any)
local simple = param("simple_ranges", 1, "SELECTs of a range in a transaction", any)
local sums = param("sum_ranges", 1, "SELECTs of a range with SUM", any)
local orders = param("order_ranges", 1, "SELECTs of a range with ORDER BY", any)
local distincts = param("distinct_ranges", 1, "SELECTs of a range with DISTINCT and ORDER BY", any)
local indexed = param("index_updates", 1, "UPDATEs of the indexed column", any)
local plain = param("non_index_updates", 1, "UPDATEs of another column", any)
local swaps = param("delete_inserts", 1, "pairs of DELETE and INSERT of the same row", any)
local extra = param("extra_update", false, "UPDATE before each DELETE and INSERT, as sysbench 0.4")
local skip_trx = param("skip_trx", is_point, "send no BEGIN and no COMMIT")
local rand_type = param("rand_type", "uniform", "distribution of ids (sysbench 1.0: special)")

local id = keys(rand_type, 1, size)
local c = pattern(("###########-"):rep(9) .. "###########")
local pad = pattern(("###########-"):rep(4) .. "###########")

-- A statement that this mode does not run is not prepared.
local ranges = reads and not is_point
local used = {
    point = reads and points > 0,
    simple = ranges and simple > 0,
    sum = ranges and sums > 0,
    order = ranges and orders > 0,
    distinct = ranges and distincts > 0,
    index = writes and (indexed > 0 or extra and swaps > 0),
    nonindex = writes and plain > 0,
    delete = writes and swaps > 0,
    insert = writes and swaps > 0,
}

local on = {}
for t = 1, tables do
    local name = "sbtest" .. t
    local of = {}
    dataset(name, size, {
        {"id", "int32", row(), key = "auto"},
        {"k", "int32", id},
        {"c", "char(120)", c},
        {"pad", "char(60)", pad},
    }, {index = {"k"}})
    local function declare(what, sql, types)
        if used[what] then
            of[what] = statement(what, (sql:gsub("@", name)), types)
        end
    end
    local one, two = {"int32"}, {"int32", "int32"}
    declare("point", "SELECT c FROM @ WHERE id=?", one)
    declare("simple", "SELECT c FROM @ WHERE id BETWEEN ? AND ?", two)
    declare("sum", "SELECT SUM(k) FROM @ WHERE id BETWEEN ? AND ?", two)
    declare("order", "SELECT c FROM @ WHERE id BETWEEN ? AND ? ORDER BY c", two)
    declare("distinct", "SELECT DISTINCT c FROM @ WHERE id BETWEEN ? AND ? ORDER BY c", two)
    declare("index", "UPDATE @ SET k=k+1 WHERE id=?", one)
    declare("nonindex", "UPDATE @ SET c=? WHERE id=?", {"char(120)", "int32"})
    declare("delete", "DELETE FROM @ WHERE id=?", one)
    declare("insert", "INSERT INTO @ (id, k, c, pad) VALUES (?, ?, ?, ?)",
        {"int32", "int32", "char(120)", "char(60)"})
    on[t] = of
end

-- As sysbench does, one table is drawn for each group of statements.
local any_table = uniform(1, tables)
local function times(n, body)
    local of = on[any_table()]
    for _ = 1, n do
        body(of)
    end
end

local function read_ranges(name, n)
    times(n, function(of)
        local from = id()
        of[name]:run(from, from + range - 1)
    end)
end

-- Until it is through, as sysbench does, also where two sessions delete and insert the same id.
transaction(mode, function()
    if reads then
        times(points, function(of) of.point:run(id) end)
    end
    if ranges then
        read_ranges("simple", simple)
        read_ranges("sum", sums)
        read_ranges("order", orders)
        read_ranges("distinct", distincts)
    end
    if writes then
        times(indexed, function(of) of.index:run(id) end)
        times(plain, function(of) of.nonindex:run(c, id) end)
        times(swaps, function(of)
            local same = id()
            if extra then
                of.index:run(same)
            end
            of.delete:run(same)
            of.insert:run(same, id, c, pad)
        end)
    end
end, {autocommit = skip_trx, tries = 0, retry_duplicate = true})
