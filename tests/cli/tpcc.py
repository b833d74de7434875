"""The workload tpcc on any database: a mixin for test_NAME_tpcc.py.

Subclasses have self.url and self.sql(*statements) -> text.
"""

import math

WEIGHTS = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
ROWS = {"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "orders": 30_000,
        "new_order": 9_000, "item": 100_000, "stock": 100_000, "order_line": 300_000}


class Tpcc:
    WORDS = ("--workload", "tpcc")
    CHECKS_LOAD = False  # the generators are the same on every database, so one looks at their shares

    def page(self, run):
        """Returns the page of the run."""
        page = self.folder / "page.html"
        self.append("report", run.folder, "--out", page)
        return page.read_text()

    def number(self, query):
        return float(self.sql(query).split()[0])

    def check_load(self):
        """Checks that the tables have the rows and the shares that the specification requires."""
        for table, rows in ROWS.items():
            self.assertEqual(self.number(f"select count(*) from {table}"), rows, table)
        if not self.CHECKS_LOAD:
            return
        for share, table, where in ((0.1, "customer", "c_credit = 'BC'"),
                                    (0.1, "item", "i_data like '%ORIGINAL%'"),
                                    (0.1, "stock", "s_data like '%ORIGINAL%'")):
            rows = ROWS[table]
            found = self.number(f"select count(*) from {table} where {where}")
            self.assertLess(abs(found - share * rows), 5 * math.sqrt(share * rows), (table, where))
        for query, expected in (
                ("select count(*) from customer where c_id <= 1000 and c_d_id = 7", 1000),
                ("select count(distinct c_last) from customer where c_id <= 1000 and c_d_id = 7", 1000),
                ("select count(*) from customer where c_id = 372 and c_last = 'PRICALLYOUGHT'", 10),
                ("select count(distinct o_c_id) from orders where o_d_id = 3", 3000),
                ("select count(*) from orders where o_carrier_id is null", 9000),
                ("select count(*) from orders where o_carrier_id is null and o_id <= 2100", 0),
                ("select min(o_ol_cnt) from orders where o_d_id = 2", 5),
                ("select max(o_ol_cnt) from orders where o_d_id = 2", 15),
                ("select min(no_o_id) from new_order", 2101),
                ("select count(*) from order_line where ol_delivery_d is null and ol_o_id <= 2100", 0),
                ("select count(*) from order_line where ol_amount = 0 and ol_o_id > 2100", 0),
                ("select count(*) from order_line where ol_amount <> 0 and ol_o_id <= 2100", 0)):
            self.assertEqual(self.number(query), expected, query)

    def check_mix(self, run):
        operations = {entry["name"]: entry for entry in run.json["operations"]}
        begun = run.json["transactions"]["begun"]
        for name, weight in WEIGHTS.items():
            expected = begun * weight / 100
            self.assertLess(abs(operations[name]["begun"] - expected), 5 * math.sqrt(expected) + 5, name)
            failed = operations[name]["failed"] + operations[name]["in_doubt"]
            self.assertEqual(failed, 0, name)
            if name != "new_order":
                self.assertEqual(operations[name]["rolled_back"], 0, name)
        # 1 % of the new orders ask for an item that does not exist
        expected = operations["new_order"]["begun"] / 100
        self.assertLess(abs(operations["new_order"]["rolled_back"] - expected),
                        5 * math.sqrt(expected) + 5)
        self.assertEqual(run.json["transactions"]["checks_failed"], 0, run.causes)

    def test_a_warehouse(self):
        self.append("prepare", 2, self.url, *self.WORDS)
        self.check_load()
        ended, run = self.run_append(4, self.url, *self.WORDS, "--transactions", 800)
        self.check_mix(run)
        self.assertEqual([(entry["state"], entry["rows"]) for entry in run.json["invariants"]],
                         [("done", 0)] * 4, run.json["invariants"])
        self.assertIn("holds: the orders of new_order have numbers without a gap", ended.out)
        self.assertEqual(run.json["transactions"]["invariants_checked"], 4)
        # the tables have more rows now, and the next run takes them as they are
        self.sql("update warehouse set w_ytd = w_ytd + 1",
                 "delete from new_order where no_d_id = 4 and no_o_id = 2999",
                 "update orders set o_ol_cnt = o_ol_cnt + 1 where o_id = 17 and o_d_id in (1, 9)",
                 "insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt) values (1, 6, 999999, 0, 0)")
        ended, run = self.run_append(4, self.url, *self.WORDS, "--transactions", 8, code=1)
        self.assertEqual([entry["rows"] for entry in run.json["invariants"]], [1, 1, 1, 2])
        self.assertEqual(run.json["transactions"]["invariants_broken"], 4)
        self.assertIn("4 of 4 invariants are broken: w_ytd is the sum of the districts' d_ytd (1 row)",
                      ended.reason)
        self.assertEqual(run.json["outcome"]["verdict"], "DEGRADED")
        self.assertIn("BROKEN by 2 rows: the sum of o_ol_cnt", ended.out)
        self.assertIn("the sum of o_ol_cnt is the number of order lines", self.page(run))
