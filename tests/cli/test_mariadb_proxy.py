"""Servers that are not MariaDB, or misbehave: a proxy in front of the real server imitates them."""

import random

import harness
from mariadb_proxy import (BULK, BULK_OPERATIONS, PREPARE, QUERY, Proxy, change_greeting, packet)


def is_append(command, body):
    return command == BULK or (command == QUERY and body[:6].lower() == b"insert")


class OtherServers(harness.Mariadb):
    """The proxy shows append's choices by the commands that pass."""

    def proxy(self, **how):
        return Proxy(self, self.url, **how)

    def without_bulk(self):
        return self.proxy(greeting=lambda payload: change_greeting(payload, clear=BULK_OPERATIONS))

    def single_store(self):
        return self.proxy(
            greeting=lambda payload: change_greeting(payload, "5.5.8", is_mariadb=False))

    def test_bulk_is_what_mariadb_gets(self):
        proxy = self.proxy()
        _, run = self.run_append("2", "1000", proxy.url)
        self.assertEqual(run.json["connection"]["method"], "bulk")
        self.assertIsNone(run.json["connection"]["note"])
        self.assertEqual(proxy.commands.count(BULK), 10)
        self.assertEqual(self.count(), 1000)

    def test_no_bulk_statements(self):
        proxy = self.without_bulk()
        ended, run = self.run_append("2", "1000", proxy.url)
        self.assertEqual(run.json["connection"]["method"], "insert")
        self.assertIn("no bulk statements", run.json["connection"]["note"])
        self.assertIn("no bulk statements", ended.out)
        self.assertNotIn(BULK, proxy.commands)
        self.assertNotIn(PREPARE, proxy.commands)
        self.assertEqual(self.count(), 1000)

    def test_no_bulk_statements_but_asked_for(self):
        self.refused("2", "1000", self.without_bulk().url, "--method", "bulk", code=2,
                     pattern=r"no bulk statements .*use --method insert")

    def test_single_store_gets_text_only(self):
        proxy = self.single_store()
        _, run = self.run_append("2", "1000", proxy.url)
        self.assertEqual(run.json["connection"]["method"], "insert")
        self.assertEqual(run.json["connection"]["dialect"], "mysql")
        self.assertNotIn(PREPARE, proxy.commands)
        self.assertNotIn(BULK, proxy.commands)
        inserts = [text for text in proxy.statements if text.startswith("insert")]
        self.assertEqual(len(inserts), 10)
        self.assertEqual(self.count(), 1000)
        self.assertEqual(self.sql("select column_type from information_schema.columns where"
                                  f" table_schema = '{self.database}' and column_name = 'ip6'"),
                         "varbinary(16)")

    def test_a_server_that_asks_for_a_file(self):
        """A server that answers an INSERT with a request for a local file gets nothing."""
        asked = []

        def answer(_, command, body):
            if not is_append(command, body):
                return None
            asked.append(command)
            return packet(1, b"\xfb/etc/passwd")

        for method in ("bulk", "insert"):
            proxy = self.proxy(answer=answer)
            _, run = self.run_append("1", "100", proxy.url, "--method", method, code=1)
            self.assertEqual(run.rows["acknowledged"], 0)
        self.assertGreater(len(asked), 1)


class BadServers(harness.Mariadb):
    """Sessions that get invalid answers are dropped, and their rows are in doubt."""

    def appends(self, method, answer):
        """Performs a run in which the third append gets `answer` instead of the server's. Returns (Ended, Run)."""
        seen = []

        def choose(_, command, body):
            if not is_append(command, body):
                return None
            seen.append(command)
            return answer if len(seen) == 3 else None

        proxy = Proxy(self, self.url, answer=choose)
        ended, run = self.run_append("2", "2000", proxy.url, "--method", method, "--recreate",
                                     code=1)
        self.assertEqual(run.verification["lost"], 0, ended)
        return ended, run

    def test_an_answer_that_does_not_come(self):
        for method in ("bulk", "insert"):
            with self.subTest(method):
                _, run = self.appends(method, b"")
                self.assertEqual(run.sessions["dropped"], 1)
                self.assertEqual(run.rows["in_doubt"], 100)
                self.assertEqual(run.rows["rejected"], 0)

    def test_answers_that_make_no_sense(self):
        ok_cut = packet(1, b"\0")[:-1]
        answers = {
            "half a head": b"\7\0",
            "a packet that is cut": ok_cut,
            "a packet of no bytes": packet(1, b""),
            "an error of one byte": packet(1, b"\xff"),
            "rows": packet(1, b"\1") + packet(2, b"\3def") + packet(3, b"\xfe\0\0\2\0"),
            "a result of no columns that ends": packet(1, b"\5"),
            "noise": bytes(range(7, 250)),
        }
        for method in ("bulk", "insert"):
            for name, answer in answers.items():
                with self.subTest(f"{method}, {name}"):
                    _, run = self.appends(method, answer)
                    self.assertEqual(run.sessions["dropped"], 1)
                    self.assertEqual(run.rows["in_doubt"], 100)

    def test_spoiled_bytes(self):
        """A few of the server's bytes are changed: the program reports it, and never crashes or hangs."""
        for seed in range(max(harness.fewer(20), 1)):
            with self.subTest(seed):
                chance = random.Random(seed)

                def spoil(data):
                    data = bytearray(data)
                    if chance.random() < 0.05:
                        data[chance.randrange(len(data))] = chance.randrange(256)
                    if chance.random() < 0.01:
                        data = data[:chance.randrange(len(data) + 1)]
                    return bytes(data)

                proxy = Proxy(self, self.url, spoil=spoil)
                ended = self.append("2", "2000", proxy.url, "--connect-timeout", "2",
                                    "--timeout", "2", "--duration", "2", code=None)
                self.assertGreaterEqual(ended.code, 0, ended)
                self.assertLess(ended.code, 64, ended)


if __name__ == "__main__":
    harness.main()
