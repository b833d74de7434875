-- The tables and transactions of TPC-C (revision 5.11): orders, payments and
-- deliveries of a company with warehouses. Not an audited TPC-C: docs/workloads.md
-- says what differs.
--
--     append prepare 4 5432 --workload tpcc --set warehouses=10
--     append 10 5432 --workload tpcc --set warehouses=10 --duration 60s
--     append 100 5432 --workload tpcc --set warehouses=10,keying=true -T 30m

local warehouses = param("warehouses", 1, "number of warehouses, about 100 MB each",
    {min = 1, max = 10000})
local keying = param("keying", false, "pause before each transaction, as the specification says")
local isolation = param("isolation", "server", "isolation level; server: the server's default",
    {"server", "read committed", "repeatable read", "serializable"})

local items = 100000
local districts = 10 -- of a warehouse
local customers = 3000 -- of a district, and as many orders
local delivered = 2100 -- the first orders of a district, whose delivery is over
local lines = 30000 -- order lines of a district
local loaded_at = 1577836800 * 1000000000 -- 2020-01-01

-- A number of 0 to n - 1 that follows from a row's number and from what it is for.
local function mixed(i, salt, n)
    return fnv(i * 64 + salt) % n
end

-- A generator of a number of 0 to n - 1 together with the number of the row, from 0.
local function of_row(n, fill)
    return derive(format("%d %d", row(0), uniform(0, n - 1)), function(text)
        local at = text:find(" ", 1, true)
        return fill(math.tointeger(text:sub(1, at - 1)), math.tointeger(text:sub(at + 1)))
    end)
end

-- Generators of the warehouse and the district of a row, with n rows in each district.
local function warehouse_of(n)
    return derive(row(0), function(i) return i // (n * districts) + 1 end)
end
local function district_of(n)
    return derive(row(0), function(i) return i // n % districts + 1 end)
end
local function number_of(n)
    return derive(row(0), function(i) return i % n + 1 end)
end

local syllables = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
local function last_name(n)
    return syllables[n // 100 + 1] .. syllables[n // 10 % 10 + 1] .. syllables[n % 10 + 1]
end

-- The specification's non-uniform number of x to y, from a draw of 0 to a and one of x to y.
local function non_uniform(low, draw, c, x, y)
    return ((low | draw) + c) % (y - x + 1) + x
end
local c_load, c_last, c_id, c_item = 131, 215, 259, 7911 -- c_last - c_load: 65 to 119, not 96, 112

-- A text in which one of ten has "ORIGINAL" at some place.
local data = derive(text(26, 50), function(made)
    local a, b, c = made:byte(1, 3)
    if fnv(a << 16 | b << 8 | c) % 10 > 0 then
        return made
    end
    local at = (made:byte(4) * 95 + made:byte(5)) % (#made - 7)
    return made:sub(1, at) .. "ORIGINAL" .. made:sub(at + 9)
end)
local zip = pattern("####11111")
local state = pattern("@@")
local tax = derive(uniform(0, 2000), function(n) return n / 10000 end)

local function address(prefix, more)
    local columns = {
        {prefix .. "_street_1", "text(20)", text(10, 20)},
        {prefix .. "_street_2", "text(20)", text(10, 20)},
        {prefix .. "_city", "text(20)", text(10, 20)},
        {prefix .. "_state", "char(2)", state},
        {prefix .. "_zip", "char(9)", zip},
    }
    return table.move(more, 1, #more, #columns + 1, columns)
end
local function with(first, columns)
    return table.move(columns, 1, #columns, #first + 1, first)
end

dataset("warehouse", warehouses, with({
    {"w_id", "int32", row(), key = true},
    {"w_name", "text(10)", text(6, 10)},
}, address("w", {
    {"w_tax", "decimal(4,4)", tax},
    {"w_ytd", "decimal(12,2)", 300000},
})))

dataset("district", warehouses * districts, with({
    {"d_w_id", "int32", warehouse_of(1), key = 1},
    {"d_id", "int32", district_of(1), key = 2},
    {"d_name", "text(10)", text(6, 10)},
}, address("d", {
    {"d_tax", "decimal(4,4)", tax},
    {"d_ytd", "decimal(12,2)", 30000},
    {"d_next_o_id", "int32", customers + 1},
})))

dataset("customer", warehouses * districts * customers, with({
    {"c_w_id", "int32", warehouse_of(customers), key = 1},
    {"c_d_id", "int32", district_of(customers), key = 2},
    {"c_id", "int32", number_of(customers), key = 3},
    {"c_first", "text(16)", text(8, 16)},
    {"c_middle", "char(2)", pattern("OE")},
    {"c_last", "text(16)", of_row(256 * 1000, function(i, drawn)
        local c = i % customers
        return last_name(c < 1000 and c or non_uniform(drawn // 1000, drawn % 1000, c_load, 0, 999))
    end)},
}, address("c", {
    {"c_phone", "char(16)", pattern("################")},
    {"c_since", "timestamp", loaded_at},
    {"c_credit", "char(2)", derive(uniform(0, 9), function(n) return n == 0 and "BC" or "GC" end)},
    {"c_credit_lim", "decimal(12,2)", 50000},
    {"c_discount", "decimal(4,4)", derive(uniform(0, 5000), function(n) return n / 10000 end)},
    {"c_balance", "decimal(12,2)", -10},
    {"c_ytd_payment", "decimal(12,2)", 10},
    {"c_payment_cnt", "int32", 1},
    {"c_delivery_cnt", "int32", 0},
    {"c_data", "text(500)", text(300, 500)},
})), {index = {"c_w_id, c_d_id, c_last, c_first"}})

local history = dataset("history", warehouses * districts * customers, {
    {"h_c_id", "int32", number_of(customers)},
    {"h_c_d_id", "int32", district_of(customers)},
    {"h_c_w_id", "int32", warehouse_of(customers)},
    {"h_d_id", "int32", district_of(customers)},
    {"h_w_id", "int32", warehouse_of(customers)},
    {"h_date", "timestamp", loaded_at},
    {"h_amount", "decimal(6,2)", 10},
    {"h_data", "text(24)", text(12, 24)},
}, {varies = true})

-- The number of lines of an order, 5 to 15. The orders of a district are in groups of 11, each with
-- every number once in an order of its own, so that every district has the same number of lines.
local function line_count(district, order)
    local group, at = order // 11, order % 11
    local seed = mixed(district * 300 + group, 1, 110)
    if group == customers // 11 then -- the last orders have 80 lines
        return ({5, 15, 6, 14, 7, 13, 8, 12})[at + 1]
    end
    return 5 + (at * (seed // 11 + 1) + seed) % 11
end

-- The customer of an order, from 1: each customer of a district has one order.
local coprime = {7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83}
local function customer_of(i)
    local district, order = i // customers, i % customers
    local by = coprime[mixed(district, 2, #coprime) + 1] * coprime[mixed(district, 3, #coprime) + 1]
    return (order * by + mixed(district, 4, customers)) % customers + 1
end

local orders = dataset("orders", warehouses * districts * customers, {
    {"o_w_id", "int32", warehouse_of(customers), key = 1},
    {"o_d_id", "int32", district_of(customers), key = 2},
    {"o_id", "int32", number_of(customers), key = 3},
    {"o_c_id", "int32", derive(row(0), customer_of)},
    {"o_entry_d", "timestamp", loaded_at},
    {"o_carrier_id", "int32", of_row(10, function(i, drawn)
        return i % customers < delivered and drawn + 1 or null
    end)},
    {"o_ol_cnt", "int32", derive(row(0), function(i)
        return line_count(i // customers, i % customers)
    end)},
    {"o_all_local", "int32", 1},
}, {index = {"o_w_id, o_d_id, o_c_id, o_id"}, varies = true})

local undelivered = customers - delivered
local new_orders = dataset("new_order", warehouses * districts * undelivered, {
    {"no_w_id", "int32", warehouse_of(undelivered), key = 1},
    {"no_d_id", "int32", district_of(undelivered), key = 2},
    {"no_o_id", "int32", derive(row(0), function(i)
        return delivered + i % undelivered + 1
    end), key = 3},
}, {varies = true})

dataset("item", items, {
    {"i_id", "int32", row(), key = true},
    {"i_im_id", "int32", uniform(1, 10000)},
    {"i_name", "text(24)", text(14, 24)},
    {"i_price", "decimal(5,2)", derive(uniform(100, 10000), function(n) return n / 100 end)},
    {"i_data", "text(50)", data},
})

local stock = {
    {"s_w_id", "int32", derive(row(0), function(i) return i // items + 1 end), key = 1},
    {"s_i_id", "int32", number_of(items), key = 2},
    {"s_quantity", "int32", uniform(10, 100)},
}
for d = 1, districts do
    stock[d + 3] = {("s_dist_%02d"):format(d), "char(24)", text(24)}
end
dataset("stock", warehouses * items, with(stock, {
    {"s_ytd", "int32", 0},
    {"s_order_cnt", "int32", 0},
    {"s_remote_cnt", "int32", 0},
    {"s_data", "text(50)", data},
}))

-- The order and the number of a line of the load, both from 1. A row has several columns, so the
-- latest answer is kept.
local latest, latest_order, latest_number = -1, 0, 0
local function line_at(i)
    if i ~= latest then
        local district, left = i // lines, i % lines
        local order = left // 110 * 11
        left = left % 110
        local count = line_count(district, order)
        while left >= count do
            left = left - count
            order = order + 1
            count = line_count(district, order)
        end
        latest, latest_order, latest_number = i, order + 1, left + 1
    end
    return latest_order, latest_number
end

local order_lines = dataset("order_line", warehouses * districts * lines, {
    {"ol_w_id", "int32", warehouse_of(lines), key = 1},
    {"ol_d_id", "int32", district_of(lines), key = 2},
    {"ol_o_id", "int32", derive(row(0), function(i) return (line_at(i)) end), key = 3},
    {"ol_number", "int32", derive(row(0), function(i)
        local _, number = line_at(i)
        return number
    end), key = 4},
    {"ol_i_id", "int32", uniform(1, items)},
    {"ol_supply_w_id", "int32", warehouse_of(lines)},
    {"ol_delivery_d", "timestamp", derive(row(0), function(i)
        return line_at(i) <= delivered and loaded_at or null
    end)},
    {"ol_quantity", "int32", 5},
    {"ol_amount", "decimal(6,2)", of_row(999999, function(i, drawn)
        return line_at(i) <= delivered and 0 or (drawn + 1) / 100
    end)},
    {"ol_dist_info", "char(24)", text(24)},
}, {varies = true})

-- The statements. w, wd, wdc: keys of warehouse, district and customer.
local w, wd, wdc = {"int32"}, {"int32", "int32"}, {"int32", "int32", "int32"}
local at_w = " WHERE w_id = ?"
local at_d = " WHERE d_w_id = ? AND d_id = ?"
local at_c = " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
local money = "decimal(12,2)"

local warehouse_tax = statement("warehouse_tax", "SELECT w_tax FROM warehouse" .. at_w, w)
local district_next = statement("district_next",
    "UPDATE district SET d_next_o_id = d_next_o_id + 1" .. at_d, wd)
local district_order = statement("district_get",
    "SELECT d_tax, d_next_o_id - 1 FROM district" .. at_d, wd)
local customer_discount = statement("discount",
    "SELECT c_discount, c_last, c_credit FROM customer" .. at_c, wdc)
local order_insert = statement("order_insert", "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id,"
    .. " o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)"
    .. " VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, NULL, ?, ?)",
    {"int32", "int32", "int32", "int32", "int32", "int32"}, {adds_to = orders})
local new_order_insert = statement("new_insert",
    "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)", wdc,
    {adds_to = new_orders})
local item_select = statement("item", "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", w)
local stock_update = statement("stock_update", "UPDATE stock SET s_quantity = s_quantity - ?"
    .. " + CASE WHEN s_quantity >= ? THEN 0 ELSE 91 END, s_ytd = s_ytd + ?,"
    .. " s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?"
    .. " WHERE s_w_id = ? AND s_i_id = ?",
    {"int32", "int32", "int32", "int32", "int32", "int32"})
local stock_select = {}
for d = 1, districts do
    stock_select[d] = statement("stock", ("SELECT s_quantity, s_dist_%02d, s_data FROM stock"
        .. " WHERE s_w_id = ? AND s_i_id = ?"):format(d), wd)
end
local line_insert = statement("line_insert", "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id,"
    .. " ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)"
    .. " VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
    {"int32", "int32", "int32", "int32", "int32", "int32", "int32", "decimal(6,2)", "char(24)"},
    {adds_to = order_lines})

local function update_and_read(name, update, read, types)
    local key = table.move(types, 2, #types, 1, {})
    return statement(name .. "_pay", update, types), statement(name, read, key)
end
local warehouse_pay, warehouse_read = update_and_read("warehouse",
    "UPDATE warehouse SET w_ytd = w_ytd + ?" .. at_w,
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse" .. at_w,
    {money, "int32"})
local district_pay, district_read = update_and_read("district",
    "UPDATE district SET d_ytd = d_ytd + ?" .. at_d,
    "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district" .. at_d,
    {money, "int32", "int32"})
local by_name = statement("by_name", "SELECT c_id FROM customer"
    .. " WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    {"int32", "int32", "text(16)"})
local customer_pay = statement("customer_pay", "UPDATE customer SET c_balance = c_balance - ?,"
    .. " c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1" .. at_c,
    {money, money, "int32", "int32", "int32"})
local customer_read = statement("customer", "SELECT c_credit, c_first, c_middle, c_last,"
    .. " c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim,"
    .. " c_discount, c_balance FROM customer" .. at_c, wdc)
local customer_data = statement("customer_data", "SELECT c_data FROM customer" .. at_c, wdc)
local customer_note = statement("customer_note", "UPDATE customer SET c_data = ?" .. at_c,
    {"text(500)", "int32", "int32", "int32"})
local history_insert = statement("history", "INSERT INTO history (h_c_id, h_c_d_id,"
    .. " h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)"
    .. " VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
    {"int32", "int32", "int32", "int32", "int32", "decimal(6,2)", "text(24)"}, {adds_to = history})

local customer_status = statement("status",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer" .. at_c, wdc)
local last_order = statement("last_order", "SELECT o_id, o_entry_d, o_carrier_id, o_ol_cnt"
    .. " FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?"
    .. " ORDER BY o_id DESC LIMIT 1", wdc)
local order_lines_read = statement("order_lines", "SELECT ol_i_id, ol_supply_w_id, ol_quantity,"
    .. " ol_amount, ol_delivery_d FROM order_line"
    .. " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", wdc)

local oldest_sql = "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ?"
    .. " ORDER BY no_o_id LIMIT 1"
local oldest = statement("oldest_order",
    {default = oldest_sql .. " FOR UPDATE", sqlite = oldest_sql}, wd)
local new_order_delete = statement("new_delete",
    "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", wdc,
    {takes_from = new_orders})
local order_customer = statement("order_read",
    "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", wdc)
local order_carrier = statement("order_carrier", "UPDATE orders SET o_carrier_id = ?"
    .. " WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", {"int32", "int32", "int32", "int32"})
local lines_deliver = statement("lines_deliver", "UPDATE order_line"
    .. " SET ol_delivery_d = CURRENT_TIMESTAMP"
    .. " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", wdc)
local lines_sum = statement("lines_sum", "SELECT SUM(ol_amount) FROM order_line"
    .. " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", wdc)
local customer_deliver = statement("balance", "UPDATE customer SET"
    .. " c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1" .. at_c,
    {money, "int32", "int32", "int32"})

local district_now = statement("district_now", "SELECT d_next_o_id FROM district" .. at_d, wd)
local low_stock = statement("low_stock", "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock"
    .. " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?"
    .. " AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
    {"int32", "int32", "int32", "int32", "int32", "int32"})

local any_district = uniform(1, districts)
local other_warehouse = uniform(1, math.max(warehouses - 1, 1))
local percent = uniform(1, 100)
local unit = uniform(0.0, 1.0)
local low_name, any_name = uniform(0, 255), uniform(0, 999)
local low_customer, any_customer = uniform(0, 1023), uniform(1, customers)
local low_item, any_item = uniform(0, 8191), uniform(1, items)
local any_count = uniform(5, 15)
local any_quantity = uniform(1, 10)
local any_amount = uniform(100, 500000)
local any_carrier = uniform(1, 10)
local any_threshold = uniform(10, 20)

-- A session is a terminal: it has a warehouse and, for stock_level, a district.
local function home()
    return session.id % warehouses + 1
end
local function another(warehouse)
    local other = other_warehouse()
    return warehouses > 1 and (other < warehouse and other or other + 1) or warehouse
end
local function draw_customer()
    return non_uniform(low_customer(), any_customer(), c_id, 1, customers)
end

-- Draws a customer, 60 % by name: of those with the name the one in the middle.
local function find_customer(warehouse, district)
    if percent() > 60 then
        return draw_customer()
    end
    local name = last_name(non_uniform(low_name(), any_name(), c_last, 0, 999))
    local same = by_name:all(warehouse, district, name)
    check(#same > 0, "a customer has the name")
    return tonumber(same[(#same + 1) // 2][1])
end

local function new_order()
    local warehouse, district, customer = home(), any_district(), draw_customer()
    local count, is_wrong, all_local = any_count(), percent() == 1, 1
    local wanted = {}
    for n = 1, count do
        local supply = percent() == 1 and another(warehouse) or warehouse
        local item = non_uniform(low_item(), any_item(), c_item, 1, items)
        all_local = supply == warehouse and all_local or 0
        wanted[n] = {item = item, supply = supply, quantity = any_quantity()}
    end
    if is_wrong then
        wanted[count].item = items + 1 -- an item that does not exist
    end
    local w_tax = warehouse_tax:one(warehouse)
    district_next:run(warehouse, district)
    local d_tax, order = district_order:one(warehouse, district)
    local discount = customer_discount:one(warehouse, district, customer)
    order = tonumber(order)
    order_insert:run(warehouse, district, order, customer, count, all_local)
    new_order_insert:run(warehouse, district, order)
    local total = 0
    for n, line in ipairs(wanted) do
        local price = item_select:one(line.item)
        if not price then
            rollback("unused item number")
        end
        stock_update:run(line.quantity, line.quantity + 10, line.quantity,
            line.supply == warehouse and 0 or 1, line.supply, line.item)
        local _, info = stock_select[district]:one(line.supply, line.item)
        local amount = line.quantity * tonumber(price)
        total = total + amount
        line_insert:run(warehouse, district, order, n, line.item, line.supply, line.quantity,
            amount, info)
    end
    total = total * (1 - tonumber(discount)) * (1 + tonumber(w_tax) + tonumber(d_tax))
    check(total > 0, "an order has an amount")
end

local function payment()
    local warehouse, district, amount = home(), any_district(), any_amount() / 100
    local of_warehouse, of_district = warehouse, district
    if percent() > 85 and warehouses > 1 then
        of_warehouse, of_district = another(warehouse), any_district()
    end
    warehouse_pay:run(amount, warehouse)
    local w_name = warehouse_read:one(warehouse)
    district_pay:run(amount, warehouse, district)
    local d_name = district_read:one(warehouse, district)
    local customer = find_customer(of_warehouse, of_district)
    customer_pay:run(amount, amount, of_warehouse, of_district, customer)
    if customer_read:one(of_warehouse, of_district, customer) == "BC" then
        local note = ("%d %d %d %d %d %.2f|"):format(customer, of_district, of_warehouse, district,
            warehouse, amount)
        local old = customer_data:one(of_warehouse, of_district, customer)
        customer_note:run((note .. old):sub(1, 500), of_warehouse, of_district, customer)
    end
    history_insert:run(customer, of_district, of_warehouse, district, warehouse, amount,
        w_name .. "    " .. d_name)
end

local function order_status()
    local warehouse, district = home(), any_district()
    local customer = find_customer(warehouse, district)
    customer_status:run(warehouse, district, customer)
    local order, _, _, count = last_order:one(warehouse, district, customer)
    if check(order, "every customer has an order") then
        check(order_lines_read:run(warehouse, district, order) == tonumber(count),
            "an order has as many lines as it says")
    end
end

-- The oldest order of a district that is not delivered; nil if all are. When another delivery has
-- just taken it, PostgreSQL finds none: then look again.
local function find_oldest(warehouse, district)
    local order = oldest:one(warehouse, district)
    for _ = 1, 10 do
        order = order or oldest:one(warehouse, district)
    end
    return order
end

local function delivery()
    local warehouse, carrier = home(), any_carrier()
    for district = 1, districts do
        local order = find_oldest(warehouse, district)
        if found(order) then
            new_order_delete:run(warehouse, district, order)
            local customer = order_customer:one(warehouse, district, order)
            order_carrier:run(carrier, warehouse, district, order)
            lines_deliver:run(warehouse, district, order)
            local sum = lines_sum:one(warehouse, district, order)
            customer_deliver:run(tonumber(sum), warehouse, district, customer)
        end
    end
end

local function stock_level()
    local warehouse, district = home(), session.id // warehouses % districts + 1
    local next_order = tonumber((district_now:one(warehouse, district)))
    low_stock:run(warehouse, district, next_order - 20, next_order, warehouse, any_threshold)
end

-- Name, weight, keying time and mean think time in seconds, function.
for _, kind in ipairs({
    {"new_order", 45, 18, 12, new_order},
    {"payment", 43, 3, 12, payment},
    {"order_status", 4, 2, 10, order_status},
    {"delivery", 4, 2, 5, delivery},
    {"stock_level", 4, 2, 5, stock_level},
}) do
    local name, weight, keys_s, think_s, body = table.unpack(kind)
    -- keying, and an exponential think time of at most 10 times the mean
    local pause = derive(unit, function(u)
        return keys_s - think_s * math.log(math.max(u, math.exp(-10)))
    end)
    transaction(name, body, {
        weight = weight,
        pause = keying and pause or nil,
        isolation = isolation ~= "server" and isolation or nil,
        tries = 0,
    })
end

-- The conditions 1 to 4 of the specification's clause 3.3.2, in this order.
invariant("w_ytd is the sum of the districts' d_ytd", [[
    SELECT w_id, w_ytd, s.ytd FROM warehouse
    JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) s ON s.d_w_id = w_id
    WHERE ABS(w_ytd - s.ytd) > 0.005]])
invariant("d_next_o_id - 1 is the highest o_id and, if there is one, the highest no_o_id", [[
    SELECT d_w_id, d_id, d_next_o_id, o.top, n.top FROM district
    LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS top FROM orders GROUP BY o_w_id, o_d_id) o
        ON o_w_id = d_w_id AND o_d_id = d_id
    LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS top FROM new_order
        GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id
    WHERE o.top IS NULL OR o.top <> d_next_o_id - 1 OR n.top <> d_next_o_id - 1]])
invariant("the orders of new_order have numbers without a gap", [[
    SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order
    GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)]])
invariant("the sum of o_ol_cnt is the number of order lines", [[
    SELECT o.w, o.d, o.n, l.n FROM
        (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS n FROM orders GROUP BY o_w_id, o_d_id) o
    LEFT JOIN (SELECT ol_w_id AS w, ol_d_id AS d, COUNT(*) AS n FROM order_line
        GROUP BY ol_w_id, ol_d_id) l ON l.w = o.w AND l.d = o.d
    WHERE l.n IS NULL OR l.n <> o.n]])
