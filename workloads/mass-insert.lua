-- Appends rows, a few at a time, to one table; in MariaDB normal, partitioned or
-- compressed. A session ends when its share of RECORDS is in.
--
--     append 30 200M mariadb://h/db --workload mass-insert
--     append 30 200M mariadb://h/db --workload mass-insert --set compressed=true

local partitions = param("partitions", 3, "mariadb: of the table; 0: it has none",
    {min = 0, max = 1024})
local compressed = param("compressed", false, "mariadb: ROW_FORMAT=COMPRESSED")
local batch = param("batch", 1, "rows in one append", {min = 1})

local tail = ""
if compressed then
    tail = tail .. " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4"
end
if partitions > 0 then
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
}})

transaction("insert", function()
    test:append(batch)
end, {autocommit = true})
