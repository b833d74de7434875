"""The stand-in for a Machbase server: each of its switches does what it says, and what it keeps of
a row is the row that the vendor's client library was given."""

import random
import struct
import threading

import harness
import machbase
import machbase_client
from machbase_client import ClientError, Row

DDL = """create table syslog_table (tm datetime, n1 short, n2 int, n3 long, n4 float, n5 double,
         host varchar(128), msg varchar(512), ip4 ipv4, ip6 ipv6)"""
KINDS = ("datetime", "short", "int", "long", "float", "double", "varchar", "varchar", "ipv4",
         "ipv6")
NAMES = ("TM", "N1", "N2", "N3", "N4", "N5", "HOST", "MSG", "IP4", "IP6")


def syslog_row(*values):
    return Row(*zip(KINDS, values))


def numbered(session, first, count):
    return [syslog_row(1_704_067_200_000_000_000 + i, 5, session, i, 0.5, 0.25, b"host", b"m" * 80,
                       "10.1.2.3", "fd00::1") for i in range(first, first + count)]


class OnStandin(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.library = machbase_client.load(machbase.library())

    def start_standin(self, *rules, **options):
        self.standin = machbase.Standin(self, *rules, **options)
        return self.standin

    def connect(self, **options):
        client = machbase_client.Client(self.library, self.standin.port, **options)
        self.addCleanup(client.close)
        return client

    def connect_with_table(self):
        client = self.connect()
        client.execute(DDL)
        return client

    def fails(self, call, *arguments, code=None, text="", **options):
        with self.assertRaises(ClientError) as caught:
            call(*arguments, **options)
        if code is not None:
            self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(text, caught.exception.text)
        return caught.exception


class Rows(OnStandin):
    def setUp(self):
        super().setUp()
        self.start_standin()

    def check_back(self, *rows):
        """Appends rows given as tuples and reads back each value as text."""
        client = self.connect_with_table()
        accepted, refused, told = client.append([syslog_row(*row) for row in rows])
        self.assertEqual((accepted, refused, told), (len(rows), 0, []))
        dumped = self.standin.dump()
        self.assertEqual(len(dumped), len(rows))
        return [[row[name] for name in NAMES] for row in dumped], client

    def test_every_column_is_where_it_belongs(self):
        back, client = self.check_back(
            (1_704_067_200_123_456_789, 5, 70_000, 5_000_000_000, 1.5, 2.25, b"web-001", b"up",
             "10.1.2.3", "fd00:a:99e2::1"))
        self.assertEqual(back, [["1704067200123456789", "5", "70000", "5000000000", "1.5", "2.25",
                                 "web-001", "up", "10.1.2.3", "fd00:a:99e2::1"]])
        # and the library reads the same in a result; of times it makes no text
        self.assertEqual(client.execute("select n1, n2, n3, n4, n5, host, msg, ip4 from "
                                        "syslog_table")[0], back[0][1:-1])

    def test_extremes(self):
        back, _ = self.check_back(
            (0, -32767, -2**31 + 1, -2**63 + 1, -3.4e38, -1.79e308, b"h" * 128, b"m" * 512,
             "0.0.0.0", "::"),
            (2**63 - 1, 32767, 2**31 - 1, 2**63 - 1, 1e38 / 3, 1e308 / 3, b"\xc3\xa4",
             b'a,"b"\n\'c', "255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            (1, 0, 0, 0, 1e-38, 5e-324, b"0", b" ", "1.2.3.4", "::ffff:1.2.3.4"))
        self.assertEqual(back[0][:4], ["0", "-32767", "-2147483647", "-9223372036854775807"])
        self.assertEqual(back[0][6:], ["h" * 128, "m" * 512, "0.0.0.0", "::"])
        self.assertEqual(back[1][:4], ["9223372036854775807", "32767", "2147483647",
                                       "9223372036854775807"])
        self.assertEqual(back[1][6:], ["\u00e4", 'a,"b"\n\'c', "255.255.255.255",
                                       "ffff:" * 7 + "ffff"])
        for row, floats, doubles in zip(back, (-3.4e38, 1e38 / 3, 1e-38),
                                        (-1.79e308, 1e308 / 3, 5e-324)):
            self.assertEqual(struct.pack("<f", float(row[4])), struct.pack("<f", floats))
            self.assertEqual(float(row[5]), doubles)

    def test_null_in_each_column(self):
        whole = (1, 2, 3, 4, 5.0, 6.0, b"h", b"m", "1.2.3.4", "::5")
        rows = [tuple(None if i == null else value for i, value in enumerate(whole))
                for null in range(len(whole))] + [(None,) * len(whole)]
        back, client = self.check_back(*rows)
        for null, row in enumerate(back[:-1]):
            self.assertEqual([i for i, value in enumerate(row) if value is None], [null])
        self.assertEqual(back[-1], [None] * len(whole))
        result = client.execute("select n1, n2, n3, n4, n5, host, msg, ip4, ip6 from syslog_table "
                                "where n1 is null and n2 is null")
        self.assertEqual(result, [[None] * 9])
        result = client.execute("select coalesce(n2, -1), nvl(n3, 7) from syslog_table where n2 is "
                                "null")
        self.assertEqual(result, [["-1", "4"], ["-1", "7"]])

    def test_wrong_place_is_found(self):
        """What one byte in a wrong place becomes is no longer the value."""
        client = self.connect_with_table()
        row = syslog_row(1, 2, 3, 4, 5.0, 6.0, b"h", b"m", "1.2.3.4", "::5")
        for column, name in ((3, "N3"), (8, "IP4"), (9, "IP6")):
            place = machbase_client.PARAMETER_BYTES * column + 1
            before = row.buffer[place]
            row.buffer[place] = 77
            client.append([row])
            row.buffer[place] = before
            self.assertNotEqual(self.standin.dump()[-1][name],
                                {"N3": "4", "IP4": "1.2.3.4", "IP6": "::5"}[name])

    def test_handle_that_is_used_again(self):
        """The library then sends more NULL bytes than a row has; that is not taken for a row."""
        client = self.connect_with_table()
        statement, row = client.statement(), numbered(0, 0, 1)[0]
        for expected in ((1, 0), (0, 1)):
            counts = machbase_client.LONG(-1), machbase_client.LONG(-1)
            self.library.SQLAppendOpen(statement, b"syslog_table", 0)
            self.library.SQLAppendDataV2(statement, row.buffer)
            self.library.SQLAppendClose(statement, *map(machbase_client.ctypes.byref, counts))
            self.assertEqual(tuple(count.value for count in counts), expected)
        self.library.SQLFreeStmt(statement, machbase_client.DROP)
        self.assertEqual(self.standin.status()["rows_malformed"], 1)

    def test_many_sizes_of_text(self):
        maker = random.Random(5)
        texts = [(maker.randbytes(maker.randint(1, 128)).hex().encode()[:128],
                  b"x" * maker.randint(1, 512)) for _ in range(3000)]
        back, client = self.check_back(*((i, 1, 2, i, 0.5, 0.5, host, msg, "1.1.1.1", "::1")
                                         for i, (host, msg) in enumerate(texts)))
        self.assertEqual([(row[6].encode(), row[7].encode()) for row in back], texts)
        self.assertGreater(self.standin.status()["packets"], 10)
        numbers = client.execute("select n3 from syslog_table", is_prepared=True)
        self.assertEqual([int(row[0]) for row in numbers], list(range(3000)))

    def test_every_type(self):
        kinds = {"a": "ushort", "b": "uint", "c": "ulong", "d": "text", "e": "binary", "f": "json"}
        client = self.connect()
        client.execute("create table t (" + ", ".join(map(" ".join, kinds.items())) + ")")
        values = (65534, 2**32 - 2, 2**64 - 2, b"text", b"\0\xff", b"{}")
        rows = [Row(*zip(kinds.values(), row)) for row in (values, (None,) * 6)]
        self.assertEqual(client.append(rows, "t")[:2], (2, 0))
        back = [[row[name.upper()] for name in kinds] for row in self.standin.dump("t")]
        self.assertEqual(back, [["65534", "4294967294", "18446744073709551614", "text", "00ff",
                                 "{}"], [None] * 6])


class Statements(OnStandin):
    def setUp(self):
        super().setUp()
        self.start_standin()
        self.client = self.connect_with_table()

    def test_tables(self):
        self.fails(self.client.execute, DDL, code=2024, text="SYSLOG_TABLE already exists")
        self.client.execute("drop table Syslog_Table")
        self.fails(self.client.execute, "drop table syslog_table", code=2025)
        self.fails(self.client.count, code=2025, text="SYSLOG_TABLE does not exist")
        self.fails(self.client.append, [], code=2025, text="does not exist")
        self.client.execute(DDL + ";")
        self.assertEqual(self.client.count(), 0)

    def test_syntax(self):
        for sql in ("sel", "drop", "select", "select * from", "create table t (a)", "select a b",
                    "create table t (a varchar)", "drop table 'x", "select (((", "x" * 60_000):
            self.fails(self.client.execute, sql, code=2010, text="Syntax error: near token")
        self.fails(self.client.execute, "select nope from syslog_table", code=2056, text="NOPE")
        self.assertEqual(self.client.count(), 0)

    def test_selects(self):
        self.client.append(numbered(3, 0, 10) + numbered(4, 0, 5))
        for sql, rows in (
                ("select count(*) from SYSLOG_TABLE where N2 = 4", [["5"]]),
                ("select distinct n2 from syslog_table where n1 is not null", [["3"], ["4"]]),
                ("select n2, n3 from syslog_table where n2 = 4 and n3 >= 3",
                 [["4", "3"], ["4", "4"]]),
                ("select \"N3\" from syslog_table limit 2", [["0"], ["1"]]),
                ("select coalesce(n1, -1), nvl(n3, 0) from syslog_table where n3 > 8",
                 [["5", "9"]]),
                ("select n3 from syslog_table where host <> 'host'", [])):
            for is_prepared in (False, True):
                self.assertEqual(self.client.execute(sql, is_prepared), rows, sql)

    def test_catalog(self):
        tables = self.client.execute("select name, colcount from m$sys_tables")
        self.assertEqual(tables, [["SYSLOG_TABLE", "11"]])
        columns = self.client.execute("select name, length from m$sys_columns where id > 0")
        self.assertEqual([name for name, _ in columns], [*NAMES, "_RID"])
        self.assertEqual(columns[7], ["MSG", "512"])
        self.standin.allow_sessions(7)
        self.assertEqual(self.client.execute("select value from v$property where name = "
                                             "'MAX_SESSION_COUNT'"), [["7"]])
        self.connect()
        self.assertEqual(self.client.execute("select count(*) from v$session"), [["2"]])

    def test_large_result(self):
        """More rows than one FETCH asks for, and than one packet holds."""
        self.client.append(numbered(1, 0, 10_000))
        rows = self.client.execute("select n3, msg from syslog_table", is_prepared=True)
        self.assertEqual([int(row[0]) for row in rows], list(range(10_000)))
        self.assertEqual({row[1] for row in rows}, {"m" * 80})


class Connections(OnStandin):
    def test_wrong_user_and_password(self):
        self.start_standin(user="ANN", password="right")
        self.fails(self.connect, code=2080, text="User (SYS) does not exist")
        self.fails(self.connect, user="ANN", password="Right", code=2081,
                   text="Invalid username/password")
        self.connect(user="ann", password="right")
        self.assertEqual(self.standin.status()["refused"], 2)

    def test_too_many(self):
        self.start_standin(max_sessions=2)
        clients = [self.connect() for _ in range(2)]
        self.fails(self.connect, code=2471, text="Session count exceed")
        self.standin.allow_sessions(3)
        self.connect()
        self.standin.allow_sessions(1)
        clients[0].close()
        self.standin.wait_for("sessions", 2)
        self.fails(self.connect, code=2471)
        self.assertEqual(self.standin.status()["sessions_most"], 3)

    def test_many_at_once(self):
        self.start_standin()
        client = self.connect_with_table()
        sessions, rows = 40, 500
        failures = []

        def append(session):
            try:
                own = self.connect()
                for first in range(0, rows, 100):
                    done = own.append(numbered(session, first, 100), check_every=100)
                    if done[:2] != (100, 0) or own.count() < first + 100:
                        failures.append(done)
            except ClientError as error:
                failures.append(error)

        threads = [threading.Thread(target=append, args=(i,)) for i in range(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(client.count(), sessions * rows)
        identities = {(row["N2"], row["N3"]) for row in self.standin.dump()}
        self.assertEqual(len(identities), sessions * rows)

    def test_kick(self):
        self.start_standin()
        client = self.connect_with_table()
        self.standin.kick()
        self.fails(client.count)
        self.standin.wait_for("sessions", 0)
        self.assertEqual(self.connect().count(), 0)

    def test_keep(self):
        self.start_standin(keep="n2,N3")
        client = self.connect_with_table()
        client.append(numbered(1, 0, 3))
        kept = {name for row in self.standin.dump() for name, value in row.items() if value}
        self.assertEqual(kept, {"N2", "N3"})
        self.assertEqual(client.execute("select n3 from syslog_table where n2 = 1"),
                         [["0"], ["1"], ["2"]])

    def test_expect(self):
        self.start_standin(expect=(1, 4))
        self.connect_with_table().append(numbered(1, 0, 3) + numbered(1, 2, 1) + numbered(4, 0, 1))
        found = self.standin.expected()
        self.assertEqual((found["rows"], found["distinct"], found["duplicates"], found["foreign"]),
                         (5, 3, 1, 1))
        self.assertEqual(found["wrong"], 4)
        self.assertEqual((found["wrong.N2"], found["wrong.MSG"]), (0, 4))
        self.assertRegex(found["first"], "session 1 row 0 column [A-Z0-9]+ is")


class Faults(OnStandin):
    def steps(self, rule, call):
        """A stand-in with a table, then the rule; call(client) meets it."""
        self.start_standin()
        client = self.connect_with_table()
        self.standin.rule(rule)
        return client, call

    def lost_at(self, rule, call):
        client, call = self.steps(rule, call)
        self.fails(call, client)
        self.assertGreaterEqual(self.standin.status()["faults"], 1)
        self.standin.no_rules()
        self.standin.wait_for("sessions", 0)
        self.connect().count()  # it serves others as before
        self.standin.stop()

    def test_link_lost_at_each_step(self):
        calls = {"execute": lambda client: client.execute("drop table other"),
                 "count": lambda client: client.count(),
                 "fetch": lambda client: client.execute("select n1 from syslog_table"),
                 "open": lambda client: client.append(numbered(0, 0, 1)),
                 "close": lambda client: client.append(numbered(0, 0, 1))}
        for step, call in calls.items():
            for action in ("drop", "reset", "partial"):
                with self.subTest(step=step, action=action):
                    self.lost_at(f"{action}={step}", call)

    def test_link_lost_in_the_middle_of_data(self):
        for action in ("drop", "reset", "partial"):
            with self.subTest(action=action):
                self.lost_at(f"{action}=data@3", lambda client: client.append(numbered(0, 0, 5000)))

    def test_link_lost_before_login(self):
        for step in ("accept", "handshake", "login"):
            for action in ("drop", "reset"):
                with self.subTest(step=step, action=action):
                    self.start_standin(f"{action}={step}@1")
                    self.fails(self.connect)
                    self.connect()
                    self.assertEqual(self.standin.status()["faults"], 1)
                    self.standin.stop()

    def test_partial_and_garbage_before_login(self):
        for step in ("handshake", "login"):
            self.start_standin(f"partial={step}@1", f"garbage={step}@2")
            self.fails(self.connect)
            if step == "handshake":  # of a header of garbage the library believes the length
                self.fails(self.connect)
                self.connect()
            self.standin.stop()

    def test_chopped_replies_change_nothing(self):
        self.start_standin(*(f"chop={step}" for step in
                             ("login", "execute", "count", "fetch", "open", "close")))
        client = self.connect_with_table()
        self.assertEqual(client.append(numbered(0, 0, 100)), (100, 0, []))
        self.assertEqual(client.count(), 100)
        self.assertEqual(len(client.execute("select n1 from syslog_table")), 100)

    def test_when(self):
        self.start_standin("error=count@2:77:second", "error=execute@%3:78:each third",
                           "error=open@3+:79:from the third on")
        client = self.connect()
        client.execute(DDL)
        client.count()
        self.fails(client.count, code=77, text="second")
        client.count()
        client.execute("drop table syslog_table")
        self.fails(client.execute, DDL, code=78)
        client.execute(DDL)
        for _ in range(2):
            client.append([])
        for _ in range(3):
            self.fails(client.append, [], code=79, text="from the third on")

    def test_refused_rows(self):
        self.start_standin("error=row@%10:2031:Resource busy")
        client = self.connect_with_table()
        accepted, refused, told = client.append(numbered(0, 0, 100), check_every=10)
        self.assertEqual((accepted, refused, len(told)), (90, 10, 10))
        self.assertEqual({(code, text) for code, text, _ in told}, {(2031, "Resource busy")})
        self.assertEqual([int(row.split(",")[3]) for _, _, row in told], list(range(9, 100, 10)))
        self.assertEqual(client.count(), 90)
        self.assertEqual(self.standin.status()["rows_refused"], 10)

    def test_error_at_each_step(self):
        calls = {"execute": lambda client: client.execute("drop table other"),
                 "count": lambda client: client.count(),
                 "fetch": lambda client: client.execute("select n1 from syslog_table"),
                 "open": lambda client: client.append(numbered(0, 0, 1))}
        self.start_standin("error=login@1:2085:not now")
        self.fails(self.connect, code=2085, text="not now")
        client = self.connect_with_table()
        for step, call in calls.items():
            with self.subTest(step=step):
                self.standin.rule(f"error={step}:7000:{step} is refused")
                self.fails(call, client, code=7000, text=f"{step} is refused")
                self.standin.no_rules()
        self.standin.rule("error=close:7000:close is refused")
        # what the library makes of that is its own; the connection lives on
        self.fails(client.append, numbered(0, 0, 1), code=0, text="Cannot read column meta")
        self.assertEqual(client.count(), 1)

    def test_refused_packet(self):
        self.start_standin("error=data@2:2446:this packet")
        client = self.connect_with_table()
        accepted, refused, told = client.append(numbered(0, 0, 1000))
        self.assertGreater(refused, 100)
        self.assertEqual((accepted + refused, len(told)), (1000, refused))
        self.assertEqual(client.count(), accepted)

    def test_end_of_a_connection(self):
        for action in ("drop", "reset", "partial", "error"):
            for step in ("free", "disconnect"):
                self.start_standin(f"{action}={step}")
                client = self.connect()
                client.execute("select count(*) from v$session", is_prepared=True)
                client.close()
                self.standin.wait_for("sessions", 0)
                self.standin.stop()

    def test_server_that_stops_reading(self):
        self.start_standin("stall=data@1")
        client = self.connect_with_table()
        waiter = threading.Thread(
            target=lambda: self.fails(client.append, 600 * numbered(0, 0, 100)))
        waiter.start()
        self.standin.wait_for("faults", 1)
        self.standin.kick()
        waiter.join(harness.GUARD_S)
        self.assertFalse(waiter.is_alive())

    def test_server_that_is_killed(self):
        self.start_standin()
        client = self.connect_with_table()
        self.standin.kill()
        self.fails(client.count)
        self.fails(self.connect)

    def test_lost_and_doubled_rows(self):
        self.start_standin("lose=row@5", "double=row@7")
        client = self.connect_with_table()
        self.assertEqual(client.append(numbered(0, 1, 10)), (10, 0, []))
        self.assertEqual([int(row["N3"]) for row in self.standin.dump()],
                         [1, 2, 3, 4, 6, 7, 7, 8, 9, 10])

    def test_lie(self):
        self.start_standin("lie=close@1:3")
        client = self.connect_with_table()
        self.assertEqual(client.append(numbered(0, 0, 10)), (7, 0, []))
        self.assertEqual(client.append(numbered(0, 10, 10)), (10, 0, []))
        self.assertEqual(client.count(), 20)

    def test_delay(self):
        self.start_standin("delay=count:300")
        client = self.connect_with_table()
        begin = harness.time.monotonic()
        self.assertEqual(client.count(), 0)
        self.assertGreaterEqual(harness.time.monotonic() - begin, 0.3)

    def test_stall(self):
        self.start_standin("stall=count@1")
        client, other = self.connect_with_table(), self.connect()
        waiter = threading.Thread(target=lambda: self.fails(client.count))
        waiter.start()
        self.standin.wait_for("faults", 1)
        self.assertEqual(other.count(), 0)
        self.assertTrue(waiter.is_alive())
        self.standin.kick()
        waiter.join(harness.GUARD_S)
        self.assertFalse(waiter.is_alive())

    def test_a_rule_that_is_none(self):
        self.start_standin()
        for rule in ("", "drop", "drop=", "drop=nowhere", "break=data", "drop=row", "drop=data@0",
                     "drop=data@x", "drop=data@1:x", "error=row@1-", "lie=row", "lose=data"):
            with self.assertRaisesRegex(AssertionError, "no rule"):
                self.standin.rule(rule)


if __name__ == "__main__":
    harness.main()
