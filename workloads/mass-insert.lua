-- Appends rows, a few at a time, to one table; in MariaDB normal, partitioned or
-- compressed. A session ends when its share of RECORDS is in.
--
--     append 30 200M mariadb://h/db --workload mass-insert --set table=normal
--     append sweep --sessions 30 --records 200M mariadb://h/db
--         --workload mass-insert --vary table=normal,partitioned,compressed

local kind = param("table", "partitioned", "mariadb: kind of the table",
    {"normal", "partitioned", "compressed"})
local partitions = param("partitions", 3, "mariadb: partitions of the table; 0: not partitioned",
    {min = 0, max = 1024})
local compressed = param("compressed", false,
    "mariadb: also compress a normal or partitioned table")
local batch = param("batch", 1, "rows in one append", {min = 1})

local tail = ""
if compressed or kind == "compressed" then
    tail = tail .. " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4"
end
if kind == "partitioned" and partitions > 0 then
    tail = tail .. " PARTITION BY KEY () PARTITIONS " .. partitions
end

local test = dataset("test", 0, {
    {"NO", "int32", key = "auto"},
    {"EMAIL", "text(128)", format("user%d@example.com", row())},
    {"NAME", "text(32)", text(8, 32)},
}, {create = {
    mariadb = "CREATE TABLE test (NO INT NOT NULL AUTO_INCREMENT, EMAIL VARCHAR(128) DEFAULT NULL,"
        .. " NAME VARCHAR(32) NOT NULL, PRIMARY KEY (NO)) ENGINE=InnoDB DEFAULT CHARSET=utf8"
        .. tail,
    singlestore = "CREATE TABLE test (NO BIGINT NOT NULL AUTO_INCREMENT, EMAIL VARCHAR(128),"
        .. " NAME VARCHAR(32) NOT NULL, PRIMARY KEY (NO))",
}})

transaction("insert", function()
    test:append(batch)
end, {autocommit = true})
