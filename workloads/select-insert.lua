-- Reads a row by a random key and logs it in another table: two statements, no
-- transaction.
--
--     append 20 mariadb://h:3306/airportdb --workload select-insert --duration 60s
--     append 20 3306 --workload select-insert --set select_only=true -T 60s

local rows = param("rows", 1000000, "rows of colemp", {min = 1})
local select_only = param("select_only", false, "only read, and log nothing")

dataset("colemp", rows, {
    {"empno", "int64", row(), key = true},
    {"ename", "text(255)", format("emp%06d", row())},
}, {create = {
    singlestore = "CREATE TABLE colemp (empno BIGINT, ename VARCHAR(255),"
        .. " PRIMARY KEY(empno) USING HASH, SORT KEY(empno), SHARD KEY(empno))",
    arangodb = 'POST /_api/collection {"name": "colemp"}\n'
        .. 'POST /_api/index?collection=colemp {"type": "persistent", "fields": ["empno"]}',
}})

local logging = dataset("colemp_logging", 0, {
    {"empno", "int64", key = 1},
    {"ename", "text(255)"},
    {"ts", "timestamp(6)", key = 2},
}, {create = {
    singlestore = "CREATE TABLE colemp_logging (empno BIGINT, ename VARCHAR(255), ts TIMESTAMP(6),"
        .. " PRIMARY KEY(empno, ts) USING HASH, SORT KEY(empno), SHARD KEY(empno))",
}})

local find = statement("select", {
    default = "SELECT empno, ename FROM colemp WHERE empno = ?",
    arangodb = "FOR d IN colemp FILTER d.empno == ? RETURN [d.empno, d.ename]",
}, {"int64"})
local log = statement("insert", {
    default = "INSERT INTO colemp_logging VALUES (?, ?, current_timestamp(6))",
    clickhouse = "INSERT INTO colemp_logging VALUES (?, ?, now())",
    sqlite = "INSERT INTO colemp_logging VALUES (?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'))",
    arangodb = "INSERT {empno: ?, ename: ?, ts: DATE_NOW()} INTO colemp_logging",
}, {"int64", "text(255)"}, {adds_to = logging})

local key = uniform(1, rows)

transaction("iteration", function()
    local empno, ename = find:one(key)
    if check(empno, "found") and not select_only then
        log:run(empno, ename)
    end
end, {autocommit = true, retry_duplicate = true}) -- the same moment again is another one
