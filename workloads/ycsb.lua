-- YCSB's core workloads A to F, and a cache, a messenger and a recommender.
--
--     append prepare 16 5432 --workload ycsb --set records=1M
--     append 64 5432 --workload ycsb --set records=1M,preset=b --duration 60s
--     append 64 5432 --workload ycsb --set preset=messenger --transactions 200k

-- Shares of the operations, and where they differ from what is usual: keys, bytes of a field.
local presets = {
    a = {read = 50, update = 50},
    b = {read = 95, update = 5},
    c = {read = 100},
    d = {read = 95, insert = 5, keys = "latest"},
    e = {scan = 95, insert = 5},
    f = {read = 50, rmw = 50},
    cache = {read = 90, update = 10, keys = "hotspot", size = 10000},
    messenger = {read = 60, insert = 34, delete = 6, keys = "latest", size = 10},
    recommend = {read = 95, update = 5, keys = "latest"},
}

local preset = presets[param("preset", "a", "shares, keys and size of fields",
    {"a", "b", "c", "d", "e", "f", "cache", "messenger", "recommend"})]
local some = {min = 1}
local share_of_one = {min = 0.0, max = 1.0}
local records = param("records", 1000, "rows of usertable", some)
local fields = param("fields", 10, "columns besides the key", some)
local size = param("field_length", preset.size or 100, "bytes of each of these columns", some)
local order = param("insert_order", "hashed", "order of the keys", {"hashed", "ordered"})
local max_scan = param("max_scan", 100, "highest number of rows in a scan", some)
local by_document = param("arangodb_api", "aql", "arangodb: how one row is read and changed",
    {"aql", "document"}) == "document"
local distribution = param("keys", preset.keys or "ycsb_zipfian", "distribution of the keys")
local theta = param("theta", 0.99, "skew of ycsb_zipfian, zipfian, scrambled and latest")
local hot_set = param("hot_set", 0.2, "hotspot: share of the keys that are hot", share_of_one)
local hot_share = param("hot_share", 0.8,
    "hotspot: share of the draws that take a hot key", share_of_one)

local used = counter("records", records) -- a reader knows a number when its insert has ended
local function key_of(i)
    return "user" .. (order == "hashed" and fnv(i) or i)
end

local columns = {{"ycsb_key", "text(255)", derive(row(0), key_of), key = true}}
local types = {"text(255)"}
for f = 0, fields - 1 do
    columns[f + 2] = {"field" .. f, "text", text(size)}
    types[f + 2] = "text"
end
local usertable = dataset("usertable", records, columns)

local number = keys(distribution, 0, used,
    {theta = theta, hot_set = hot_set, hot_share = hot_share})
local value = text(size)
local field = uniform(0, fields - 1)
local length = uniform(1, max_scan)

-- What an operation without a share would run is not prepared.
local shares = {}
local function share(operation)
    shares[operation] = param(operation, preset[operation] or 0,
        "share of " .. operation .. " operations", {min = 0})
    return shares[operation] > 0
end

local reads = share("read")
local updates = share("update")
local scans = share("scan")
local rmws = share("rmw")
local deletes = share("delete")
local inserts = share("insert")

-- SQL, AQL, and a request of ArangoDB's document API. The key of a document is its _key; ?2 is
-- the second value.
local function texts(sql, aql, request)
    return {default = sql, arangodb = by_document and request or aql}
end
local one_document = "/_api/document/usertable/"

local read, scan, insert, delete
local update = {}
if reads or rmws then
    read = statement("READ", texts("SELECT * FROM usertable WHERE ycsb_key = ?",
        "FOR d IN usertable FILTER d._key == ? RETURN d",
        "GET " .. one_document .. "?"), {"text(255)"})
end
if scans then
    scan = statement("SCAN",
        texts("SELECT * FROM usertable WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?",
            "FOR d IN usertable FILTER d._key >= ? SORT d._key LIMIT ? RETURN d"),
        {"text(255)", "int32"})
end
if updates or rmws then
    for f = 0, fields - 1 do
        local name = "field" .. f
        update[f] = statement("UPDATE",
            texts("UPDATE usertable SET " .. name .. " = ? WHERE ycsb_key = ?",
                "FOR d IN usertable FILTER d._key == ?2 UPDATE d WITH {" .. name
                    .. ": ?1} IN usertable",
                "PATCH " .. one_document .. '?2 {"' .. name .. '": ?1}'),
            {"text", "text(255)"})
    end
end
if deletes then
    delete = statement("DELETE", texts("DELETE FROM usertable WHERE ycsb_key = ?",
        "FOR d IN usertable FILTER d._key == ? REMOVE d IN usertable",
        "DELETE " .. one_document .. "?"), {"text(255)"}, {takes_from = usertable})
end
if inserts then
    local pairs_of = {'"_key": ?'}
    for f = 0, fields - 1 do
        pairs_of[f + 2] = '"field' .. f .. '": ?'
    end
    local document = "{" .. table.concat(pairs_of, ", ") .. "}"
    insert = statement("INSERT",
        texts("INSERT INTO usertable VALUES (" .. list(fields + 1, "?") .. ")",
            "INSERT " .. document .. " INTO usertable",
            "POST /_api/document/usertable " .. document), types, {adds_to = usertable})
end

local bodies = {} -- a miss is counted, and is not an error

function bodies.read()
    found(read:run(key_of(number())) > 0)
end

function bodies.update()
    found(update[field()]:run(value, key_of(number())) > 0)
end

function bodies.scan()
    scan:run(key_of(number()), length)
end

function bodies.rmw()
    local key = key_of(number())
    read:run(key)
    update[field()]:run(value, key)
end

function bodies.delete()
    found(delete:run(key_of(number())) > 0)
end

function bodies.insert()
    local values = {key_of(used:next())}
    for f = 2, fields + 1 do
        values[f] = value
    end
    insert:run(values)
end

for _, operation in ipairs({"read", "update", "scan", "rmw", "delete", "insert"}) do
    if shares[operation] > 0 then
        transaction(operation == "rmw" and "READ-MODIFY-WRITE" or operation, bodies[operation],
            {weight = shares[operation], autocommit = true})
    end
end
