"""Transactions with sessions of their own, and rates of their own."""

import sqlite3

import harness

SCRIPT = """
local log = dataset("log", 0, {{"id", "int64", key = "auto"}, {"session", "int32"}, {"kind", "text(10)"}})
local put = statement("put", "INSERT INTO log (session, kind) VALUES (?, ?)", {"int32", "text"},
    {adds_to = log})
local function kind(name, options)
    transaction(name, function() put:run(session.id, name) end, options)
end
"""


class Groups(harness.Case):
    def script(self, text):
        path = self.folder / "s.lua"
        path.write_text(SCRIPT + text)
        return path

    def test_sessions(self):
        script = self.script('kind("two", {sessions = 2}) kind("quarter", {sessions = 0.25})'
                             'kind("a", {weight = 3}) kind("b")')
        database = self.folder / "test.db"
        _, run = self.run_append("12", f"sqlite:{database}", "--workload", script,
                                 "--transactions", 1200)
        with sqlite3.connect(database) as connection:
            rows = connection.execute("SELECT kind, session, count(*) FROM log GROUP BY 1, 2").fetchall()
        sessions = {}
        for kind, session, _ in rows:
            sessions.setdefault(kind, set()).add(session)
        self.assertEqual(sessions["two"], {0, 1})
        self.assertEqual(len(sessions["quarter"]), 3)
        self.assertEqual(sessions["a"], sessions["b"])
        self.assertEqual(len(sessions["a"]), 7)
        self.assertEqual(set().union(*sessions.values()), set(range(12)))
        counts = {entry["operation"]: int(entry["committed"]) for entry in run.table("operations.csv")
                  if entry["kind"] == "transaction"}
        self.assertEqual(counts["two"], 200)
        self.assertEqual(counts["quarter"], 300)
        self.assertEqual(counts["a"] + counts["b"], 700)

    def test_rates(self):
        script = self.script('kind("slow", {sessions = 2, rate = 40}) kind("third", {sessions = 1, rate = 10.5})'
                             'kind("fast")')
        ended, run = self.run_append("4", "null:", "--workload", script, "--duration", "2s")
        counts = {entry["operation"]: int(entry["committed"]) for entry in run.table("operations.csv")
                  if entry["kind"] == "transaction"}
        self.assertLessEqual(counts["slow"], 80 + 2)
        self.assertLessEqual(counts["third"], 21 + 1)
        self.assertGreater(counts["fast"], 200)
        transactions = run.json["transactions"]
        self.assertAlmostEqual(transactions["due"], 80 + 21, delta=3)
        self.assertEqual(transactions["due"],
                         counts["slow"] + counts["third"] + transactions["skipped"] + transactions["not_begun"])
        self.assertNotIn("at a rate", ended.out)

    def test_described(self):
        script = self.script('kind("two", {sessions = 2}) kind("half", {sessions = 0.5, rate = 7}) kind("rest")')
        ended = self.append("help", script)
        self.assertRegex(ended.out, r"two +2 sessions of its own, begun and committed")
        self.assertRegex(ended.out, r"half +50 % of the sessions, 7/s, begun and committed")
        ended = self.append("8", "null:", "--workload", script, "--duration", "1s", "--plan")
        self.assertIn("  transaction half: 4 sessions of its own\n", ended.out)

    def test_refused(self):
        for text, arguments, pattern in (
                ('kind("x", {sessions = 0})', (), "sessions must be a whole number from 1"),
                ('kind("x", {sessions = "2"})', (), "sessions must be a number, not a string"),
                ('kind("x", {sessions = 2, rate = "10"})', (), "rate must be a number of transactions/s"),
                ('kind("x", {sessions = 1.5})', (), "sessions must be a whole number from 1"),
                ('kind("x", {sessions = -1})', (), "sessions must be a whole number from 1"),
                ('kind("x", {sessions = 2, weight = 2})', (), "remove weight"),
                ('kind("x", {rate = 5})', (), "has 'rate', but not 'sessions': add it"),
                ('kind("x", {sessions = 1, rate = 0})', (), "rate must be a number of transactions/s"),
                ('kind("x", {sessions = 5}) kind("y")', (), "transactions drawn by weight need at least one more: "
                                                            "this run has 4, use 6 or more"),
                ('kind("x", {sessions = 3})', (), "1 of 4 sessions would do nothing"),
                ('kind("x", {sessions = 1, rate = 5, pause = 1}) kind("y")', (), "remove pause"),
                ('kind("x", {sessions = 1, rate = 5}) kind("y")', ("--rate", "10"), "leave --rate")):
            with self.subTest(text):
                self.refused("4", "null:", "--workload", self.script(text), "--duration", "1s", *arguments,
                             code=2, pattern=pattern)
        script = self.script('kind("x", {sessions = 1, rate = 5}) kind("y")')
        self.refused("null:", "--workload", script, "--stage", "1s:4", code=2, pattern="--stage does not work with")
        self.refused("find-max", "null:", "--workload", script, code=2, pattern="find-max does not work with")
        self.refused("4", "1000", "null:", "--workload", self.script('kind("x", {sessions = 1}) kind("y")'),
                     "--duration", "1s", code=2, pattern="cannot end after RECORDS")


if __name__ == "__main__":
    harness.main()
