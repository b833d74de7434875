"""PostgreSQL aborts transactions of scripts, and connections end in the middle of transactions."""

import harness
import workload_faults
from postgresql_proxy import Proxy

SUM = """
dataset("one", 1, {{"id", "int32", row(), key = true}, {"n", "int64", 0}})
local get = statement("get", "SELECT n FROM one WHERE id = 1")
local set = statement("set", "UPDATE one SET n = ? WHERE id = 1", {"int64"})
transaction("add", function()
    local n = tonumber((get:one()))
    think(0.005)
    set:run(n + 1)
end, {isolation = "serializable", tries = 0})
"""

# The first claim holds. Two rows break the second claim.
CLAIMS = """
dataset("one", 3, {{"id", "int32", row(), key = true}})
local get = statement("get", "SELECT id FROM one WHERE id = 1")
transaction("look", function() get:run() end)
invariant("no id is 4", "SELECT id FROM one WHERE id = 4 /* first */")
invariant("ids are below 2", "SELECT id FROM one WHERE id >= 2 ORDER BY id /* second */")
invariant("no id is 5", "SELECT id FROM one WHERE id = 5 /* third */")
"""


class Faults(workload_faults.Faults, harness.Postgresql):
    LIMIT = 'default = "SET lock_timeout = 1000"'
    ENDS = (("ABORT", "false", 0),)
    AGAIN = "DO $$ begin raise exception 'again' using errcode = '40001'; end $$"

    def client_command(self):
        return ["psql", "-X", "-q", "-A", "-t", self.url]

    def without_answer(self, what, number, arrives):
        """Returns the URL of a proxy that closes the connection when it sees `what` for the number-th time;
        `arrives`: after the server has answered."""
        state = {"seen": 0, "is_due": False}

        def to_server(data):
            state["seen"] += what in data
            if what in data and state["seen"] == number:
                if not arrives:
                    raise OSError
                state["is_due"] = True
            return data

        def to_client(data):  # other connections also get answers: the answer of this one names the command
            if state["is_due"] and what.split()[0].upper() in data:
                state["is_due"] = False
                raise OSError
            return data

        return Proxy(self, self.url, to_server=to_server, to_client=to_client).url

    def test_serialization_failures(self):
        _, run = self.run_script(4, self.url, self.script(SUM), "--transactions", 60)
        ledger = run.json["transactions"]
        self.assertEqual(ledger["committed"], 60)
        self.assertGreater(ledger["retries_serialization"], 0, ledger)
        self.assertEqual(self.number("select n from one"), 60)

    def claims(self, run):
        return [(entry["state"], entry["rows"]) for entry in run.json["invariants"]]

    def test_the_connection_is_lost_while_claims_are_checked(self):
        """A claim that is not checked does not count as held. The second time that the query is sent it runs; the
        first time it is only prepared."""
        url = self.without_answer(b"/* third */", 2, False)
        ended, run = self.run_script(2, url, self.script(CLAIMS), "--transactions", 10, code=1)
        self.assertEqual(self.claims(run), [("done", 0), ("done", 2), ("failed", None)])
        self.assertIn("1 of 3 invariants is broken: ids are below 2 (2 rows)", ended.reason)
        self.assertIn("NOT CHECKED: no id is 5", ended.out)
        url = self.without_answer(b"/* first */", 2, False)
        ended, run = self.run_script(2, url, self.script(CLAIMS), "--transactions", 10, code=1)
        self.assertEqual(self.claims(run), [("failed", None)] * 3)
        self.assertIn("3 of 3 invariants could not be checked: ", ended.reason)

    def test_claims_at_two_hosts_that_are_one_database(self):
        """The script changes no row that would show that the hosts are one database: no row is counted twice."""
        url = self.url.replace("@127.0.0.1", f"@localhost:{self.url.split(':')[2].split('/')[0]},127.0.0.1")
        _, run = self.run_script(2, url, self.script(CLAIMS), "--transactions", 10, code=1)
        self.assertEqual(self.claims(run), [("done", 0), ("done", 2), ("done", 0)])


class Restarts(workload_faults.Restarts):
    SERVER = harness.PrivateServer

    @staticmethod
    def ask(url, statement):
        return int(harness.psql(url, statement))


class Counted(workload_faults.Case):
    """The server's own count of statements, with one session: with two, a session could abort a try of the
    other before its last statement."""

    def test_statements_of_oltp(self):
        server = harness.PrivateServer(self, shared_preload_libraries="pg_stat_statements")
        harness.psql(server.superuser_url, "create extension pg_stat_statements")
        for settings, expected in workload_faults.OLTP.items():
            with self.subTest(settings):
                words = (server.url, "--workload", "oltp", "--set", "table_size=1000," + settings)
                self.append("prepare", 1, *words)
                harness.psql(server.superuser_url, "select pg_stat_statements_reset()")
                _, run = self.run_script(1, words[0], "oltp", *words[3:], "--transactions", 50)
                self.assertEqual(run.json["transactions"]["tries"], 50)
                for word, number in expected.items():
                    counted = harness.psql(
                        server.superuser_url, "select coalesce(sum(calls), 0) from"
                        f" pg_stat_statements where query ilike '{word}%sbtest1%'"
                        " and query not ilike '%count(*)%'")
                    self.assertEqual(int(counted), number * 50, word)


if __name__ == "__main__":
    harness.main()
