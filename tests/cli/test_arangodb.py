"""Whole runs against a stand-in for ArangoDB that follows its documentation. They show that append
follows the documentation, and nothing about a real server."""

import os
import re

import databases  # first: the stand-ins
import arangodb_standin
import harness

METHODS = ("import", "document")


class ArangodbCase(databases.OnStandin):
    SERVER, URL = arangodb_standin.Server, "arangodb://127.0.0.1:{port}/bench"

    def setUp(self):
        super().setUp()
        self.stand_in()

    def collection(self, name="syslog_table"):
        return self.standin.databases["bench"].collections[name]

    def documents(self, name="syslog_table"):
        return list(self.collection(name).documents.values())

    def count(self, table="syslog_table"):
        return len(self.documents(table))

    def refuse_some(self, claim, *error):
        """Makes the server refuse documents of the table for which `claim` is true from now on."""
        self.append(1, 1, self.url)
        collection = self.collection()
        insert = collection.insert

        def judge(document):
            if claim(document):
                raise arangodb_standin.Refused(*error)
            return insert(document)
        collection.insert = judge
        return len(self.documents())

    def cause(self, run, kind):
        """Returns the only cause of a kind."""
        found = [cause for cause in run.causes if cause["kind"] == kind]
        self.assertEqual(len(found), 1, run.causes)
        return found[0]


class Appends(databases.StandinRuns, ArangodbCase):
    LOADS = tuple((3, 1001, ("--method", method, "--batch", 7), {}) for method in METHODS)

    def stored(self):
        return self.documents()

    def test_what_a_url_asks_for(self):
        url = self.url + "?replication_factor=3&write_concern=2&shards=6&wait_for_sync=true"
        for method in METHODS:
            self.load(4, 10, "--method", method, target=url)
        self.assertEqual(self.collection().properties, {
            "name": "syslog_table", "numberOfShards": 6, "replicationFactor": 3, "writeConcern": 2,
            "waitForSync": True})
        for wrong, words in (("shards=0", "shards of the URL: use a number from 1 to 1000"),
                             ("replication_factor=11", "a number from 1 to 10"),
                             ("write_concern=x", "a number from 1 to 10"),
                             ("wait_for_sync=1", "use true or false"),
                             ("shard=1", "unknown parameter")):
            self.refused(1, 1, f"{self.url}?{wrong}", code=2, pattern=words)
        text = self.refused(1, 1, self.url + "?write_concern=3", "--recreate=syslog_table", code=4,
                            pattern="bad parameter")
        self.assertNotIn("syslog_table", self.standin.databases["bench"].collections, text)

    def test_refused_documents_are_counted_one_by_one(self):
        for method, text in (("import", "creating document failed with error 'unique constraint "
                                        "violated'"),
                             ("document", "unique constraint violated - in index primary")):
            there = self.refuse_some(
                lambda one: one["n3"] % 10 == 3, 409, 1210, "unique constraint violated - in index "
                "primary; conflicting key: %d" % os.getpid())
            _, run = self.load(4, 2000, "--method", method, "--verify", "rows", "--seed", 5 + there, code=1)
            self.assertEqual((run.rows["acknowledged"], run.rows["rejected"]), (1800, 200))
            self.assertEqual(run.json["row_verification"]["lost"], 0)
            self.assertEqual(len(self.documents()), there + 1800)
            cause = self.cause(run, "duplicate")
            self.assertEqual((cause["text"], cause["native_code"]), (text, 1210))
            self.assertEqual(cause["count"], 20)
            del self.standin.databases["bench"].collections["syslog_table"]

    def test_a_refusal_that_is_no_duplicate(self):
        for method in METHODS:
            self.refuse_some(lambda one: one["n3"] == 0, 400, 1221, "illegal document key")
            _, run = self.load(4, 2000, "--method", method, code=1)
            self.assertEqual((run.rows["acknowledged"], run.rows["rejected"]), (1996, 4))
            self.assertRegex(self.cause(run, "data")["text"], "illegal document key")
            del self.standin.databases["bench"].collections["syslog_table"]

    def test_a_large_append_is_sent_in_pieces(self):
        self.append(1, 1, self.url)
        before = self.standin.rules.counts["POST import"]
        _, run = self.load(1, 80000, "--batch", 80000, "--read", "none")
        self.assertEqual(run.rows["acknowledged"], 80000)
        self.assertEqual(self.standin.rules.counts["POST import"] - before, 2)

    def test_a_large_append_that_is_lost_in_the_middle(self):
        """The piece without an answer is in doubt. Earlier pieces were answered, document by document;
        later ones are sent again."""
        self.refuse_some(lambda one: one["n3"] == 3, 400, 1221, "illegal document key")
        for number in (0, 1):
            self.standin.rules.add(f"lose=POST import@{number + 1}")
            _, run = self.load(1, 80000, "--batch", 80000, "--read", "none", "--on-drop", "reconnect",
                               "--verify", "rows", "--seed", 5 + number, code=1)
            found, doubt = run.json["row_verification"], run.rows["in_doubt"]
            self.assertEqual(run.rows["acknowledged"] + run.rows["rejected"] + doubt, 80000)
            self.assertGreater(min(doubt, run.rows["acknowledged"]), 5000)
            self.assertEqual(run.rows["rejected"], number)
            self.assertEqual((found["lost"], found["in_doubt_present"], found["rejected_present"]),
                             (0, doubt - (number == 0), 0))

    def test_a_table_of_the_users(self):
        self.append(1, 1, self.url)
        database = self.standin.databases["bench"]
        database.collections["mine"] = mine = arangodb_standin.Collection("mine", {})
        self.refused(1, 1, self.url, "--table", "mine", code=2, pattern="no column that append can write")
        mine.insert({"a": 1, "b": "some text", "c": True, "d": [1], "e": 1, "f": None})
        mine.insert({"a": 1, "b": "x", "c": False, "d": {}, "e": 1.5})
        self.load(4, 100, "--table", "mine")
        self.assertEqual(len(mine.documents), 102)
        for one in list(mine.documents.values())[2:]:
            self.assertEqual({name: type(value) for name, value in one.items() if name[0] != "_"
                              and value is not None and name != "d"},
                             {name: kind for name, kind in (("a", int), ("b", str), ("c", bool),
                                                            ("e", float)) if one[name] is not None})
            self.assertLessEqual(len(one["b"] or ""), 9)
        self.refused(1, 1, self.url, "--table", "other", code=4,
                     pattern="collection or view not found: other")


class Servers(databases.StandinEnds, databases.Users, ArangodbCase):
    SLOW, SENT = "drop=POST import@21+", "POST import"
    USER_SETTINGS = {"user": "root", "password": harness.SECRET}
    REFUSED = ("", 4, "not authorized to execute this request: wrong user or password")
    USERS = (("arangodb://root:{secret}@{place}/bench", "", 0, ""),
             ("arangodb://:{secret}@{place}/bench", "", 0, ""),
             ("arangodb://{place}/bench", *REFUSED),
             ("arangodb://root:wrong@{place}/bench", *REFUSED),
             ("arangodb://me:{secret}@{place}/bench", *REFUSED))

    def test_recognised_by_its_port(self):
        ended, _ = self.load_by_port("arangodb")
        self.assertIn(f"arangodb://{self.place}/_system (ArangoDB", ended.out)
        self.stand_in(**self.USER_SETTINGS)
        self.refused(2, 10, self.standin.port, code=4, pattern="wrong user or password")

    def test_check_makes_nothing(self):
        ended = self.append("check", 10, self.url, code=None)
        self.assertEqual(list(self.standin.databases), ["_system"], ended)
        self.append(1, 1, self.url)
        self.assertIn("ArangoDB " + arangodb_standin.VERSION, self.append("check", 10, self.url).out)

    def test_busy_for_a_while(self):
        self.append(1, 1, self.url)
        for status, number in ((503, 21003), (503, 503), (409, 1200), (503, 1496)):
            self.standin.rules.add(f"status=POST import@6-14:{status}:{number} try again")
            _, run = self.load(4, 2000)
            self.assertEqual(run.rows["acknowledged"], 2000)
            self.assertEqual(run.json["counters"]["busy_retries"], 9, number)

    def test_no_writes_for_a_while(self):
        self.append(1, 1, self.url)
        for status, number in ((403, 1004), (503, 1429)):
            self.standin.rules.add(f"status=POST import@1-3:{status}:{number} write concern not fulfilled")
            _, run = self.load(4, 2000, code=1)
            self.assertEqual((run.rows["rejected"], run.sessions["dropped"]), (300, 3))
            self.assertEqual(self.cause(run, "read_only")["native_code"], number)
            self.standin.rules.add(f"status=POST import@1-3:{status}:{number} write concern not fulfilled")
            _, run = self.load(4, 2000, "--on-drop", "reconnect")
            self.assertEqual(run.rows["acknowledged"], 2000)
            self.assertEqual(run.json["counters"]["refusals"], 3)

    def test_connections_that_end_in_the_middle(self):
        for action in ("drop", "lose"):
            for method in METHODS:
                self.append(1, 1, self.url, "--recreate=syslog_table")
                self.standin.rules.add(f"{action}=POST {method}@5-7")
                _, run = self.load(4, 2000, "--method", method, "--on-drop", "reconnect", "--verify", "rows",
                                   code=None)
                self.assertEqual(run.rows["in_doubt"], 300)
                self.assertEqual(run.rows["acknowledged"], 1700)
                self.assertEqual(run.json["row_verification"]["lost"], 0)
                self.assertEqual(len(self.documents()) - 1, 2000 if action == "lose" else 1700)

    def test_rows_after_errors_that_say_nothing_about_them(self):
        """A cluster lost one of its servers; or a proxy in front of the server sent the answer."""
        for error in ("503:1465 connection lost", "503:try later", "429:slow down", "500:<html>"):
            with self.subTest(error):
                self.append(1, 1, self.url, "--recreate=syslog_table")
                self.standin.rules.add(f"late=POST import@1:{error}")
                _, run = self.load(4, 2000, "--on-drop", "reconnect", "--verify", "rows", code=None)
                self.assertEqual((run.rows["in_doubt"], run.rows["acknowledged"]), (100, 1900))

    def test_results_of_several_pages(self):
        """In the second run an early row is malformed: append gives up the remaining pages."""
        self.append(1, 1, self.url)
        collection, pages = self.collection(), "POST cursor"
        insert = collection.insert
        for is_odd in (False, True):
            before = self.standin.rules.counts[pages]
            _, run = self.load(2, 21000, "--verify", "rows", "--read", "none", "--batch", 1000, "--seed",
                               5 + is_odd, code=1 if is_odd else 0)
            self.assertEqual(run.json["row_verification"]["state"], "failed" if is_odd else "done")
            self.assertEqual(self.standin.rules.counts["DELETE cursor"], int(is_odd))
            collection.insert = lambda one: insert(
                {**one, "n2": "odd"} if one["n2"] == one["n3"] == 0 else one)
            self.assertEqual(self.standin.cursors, {})
            self.assertGreaterEqual(self.standin.rules.counts[pages] - before, 3)


class Scripts(ArangodbCase):
    def ycsb(self, *sets, transactions="1k", code=0):
        return self.append(8, self.url + "?replication_factor=3&write_concern=2&shards=6",
                           "--workload", "ycsb", "--set", ",".join(sets), "--transactions",
                           transactions, code=code)

    def test_ycsb(self):
        self.append("prepare", 4, self.url + "?shards=3", "--workload", "ycsb")
        self.assertEqual(self.collection("usertable").properties["numberOfShards"], 3)
        self.assertEqual(len(self.documents("usertable")), 1000)
        one = self.documents("usertable")[0]
        self.assertRegex(one["_key"], r"^user\d+$")
        self.assertEqual(set(one), {"_id", "_key", "_rev", *(f"field{i}" for i in range(10))})
        self.refused("cleanup", self.url, "--workload", "ycsb", code=2, pattern="--drop=usertable drops it")
        self.assertEqual(len(self.documents("usertable")), 1000)
        self.append("cleanup", self.url, "--workload", "ycsb", "--drop=usertable")
        self.assertEqual(self.standin.databases["bench"].collections, {})
        self.append("cleanup", self.url, "--workload", "ycsb")

    def test_ycsb_messenger(self):
        ended = self.ycsb("preset=messenger")
        self.assertRegex(ended.out, r"1,000 = 1,000 committed \+ 0 rolled back/failed/in doubt")
        self.assertIn("0 lost", ended.out)
        self.assertEqual(self.collection("usertable").properties, {
            "name": "usertable", "numberOfShards": 6, "replicationFactor": 3, "writeConcern": 2})

    def test_ycsb_by_both_apis(self):
        for api, used, unused in (("aql", "cursor", "document"), ("document", "document", None)):
            self.standin.rules.counts.clear()
            ended = self.ycsb("read=1,update=1,insert=1,delete=1,rmw=1,scan=1,field_length=8",
                              "arangodb_api=" + api)
            rows = {name: (int(answered.replace(",", "")), int(count.replace(",", "")))
                    for name, _, answered, count in re.findall(
                        r"^  ([A-Z]+) +([\d,]+) +([\d,]+) +0 +0 +([\d,]+)$", ended.out, re.M)}
            self.assertEqual(set(rows), {"READ", "UPDATE", "INSERT", "DELETE", "SCAN"}, ended.out)
            self.assertEqual(*rows["INSERT"])
            for name in ("READ", "UPDATE", "DELETE"):  # a deleted row is a miss
                self.assertGreater(rows[name][1], 0)
                self.assertLess(rows[name][1], rows[name][0])
            self.assertGreater(rows["SCAN"][1], rows["SCAN"][0])
            self.assertEqual(len(self.documents("usertable")),
                             1000 + rows["INSERT"][1] - rows["DELETE"][1])
            calls = sum(count for name, count in self.standin.rules.counts.items() if used in name)
            self.assertGreater(calls, 800)
            self.assertFalse(unused and any(unused in name for name in self.standin.rules.counts))
            changed = [one for one in self.documents("usertable") if len(one["field0"]) != 8]
            self.assertEqual(changed, [])
            self.append("cleanup", self.url, "--workload", "ycsb", "--drop=usertable")

    def test_select_insert(self):
        ended = self.append(4, self.url, "--workload", "select-insert", "--set", "rows=300",
                            "--transactions", 200)
        self.assertEqual(len(self.documents("colemp_logging")), 200)
        self.assertEqual(self.collection("colemp").indexes, [{"type": "persistent",
                                                              "fields": ["empno"]}])
        for one in self.documents("colemp_logging"):
            self.assertEqual(one["ename"], "emp%06d" % one["empno"])
            self.assertIsInstance(one["ts"], int)
        self.assertRegex(ended.out, r"(?m)^Checks +200: 0 failed$")

    def test_a_key_that_is_there(self):
        path = self.folder / "same.lua"
        path.write_text("""
local t = dataset("t", 0, {{"k", "text(20)", format("key%d", uniform(1, 30)), key = true},
    {"v", "int32", uniform(1, 9)}})
transaction("t", function() t:append(10) end, {autocommit = true})
""")
        ended = self.append(4, self.url, "--workload", path, "--transactions", 50, code=None)
        self.assertEqual(len(self.documents("t")), 30)
        self.assertRegex(ended.out + ended.err, "unique constraint violated")
        self.assertRegex(ended.out, r"t: 0 before \+ 30 added - 0 taken = 30 after:\s+0 lost")

    def test_no_value_in_a_path(self):
        """A request with a value that would lead to something else is not sent: it must not take the value of an
        earlier request, end the path, or name the whole collection."""
        path = self.folder / "gone.lua"
        for value in ("null", '""', '"key1\\0x"'):
            path.write_text("""
local t = dataset("t", 2, {{"k", "text(20)", format("key%d", row()), key = true}})
local get = statement("get", {arangodb = "GET /_api/document/t/?"}, {"text(20)"})
local gone = statement("gone", {arangodb = "DELETE /_api/document/t/?"}, {"text(20)"})
transaction("t", function() get:one("key2") gone:run(VALUE) end, {autocommit = true})
""".replace("VALUE", value))
            ended = self.append(1, self.url, "--workload", path, "--transactions", 1, "--recreate=t", code=None)
            self.assertIn("value 1 is part of the request's path: it must not be NULL or empty, and must not contain a NUL byte",
                          ended.out + ended.err, value)
            self.assertEqual(sorted(one["_key"] for one in self.documents("t")), ["key1", "key2"])

    def test_indexes(self):
        """The indexes of a table with its own requests are not created by SQL."""
        path = self.folder / "indexed.lua"
        text = """dataset("t", 10, {{"k", "int32", row()}}, {index = {"k"}%s})
transaction("t", function() end, {autocommit = true})"""
        path.write_text(text % "")
        self.refused("prepare", 2, self.url, "--workload", path, code=2,
                     pattern=r"indexed.lua:1: dataset 't': ArangoDB has no CREATE INDEX; .* create = "
                             r"\{arangodb = ")
        path.write_text(text % ", create = {arangodb = 'POST /_api/collection {\"name\": \"t\"}'}")
        self.append("prepare", 2, self.url, "--workload", path)
        self.assertEqual(len(self.documents("t")), 10)

    def test_what_is_wrong_is_known_before_the_sessions_begin(self):
        path = self.folder / "wrong.lua"
        for text, pattern in (("SELECT 1", "wrong.lua:1: statement 'x': ArangoDB has no SQL: give"),
                              ("FOR x", "wrong.lua:1: statement 'x': AQL: syntax error"),
                              ("RETURN LENGTH(none)", None)):
            path.write_text('local s = statement("x", {arangodb = "%s"})\n'
                            'transaction("t", function() s:run() end, {autocommit = true})\n' % text)
            if pattern:
                self.refused(2, self.url, "--workload", path, "--transactions", 9, code=2,
                             pattern=pattern)
            else:
                self.append(2, self.url, "--workload", path, "--transactions", 9, code=1)
        path = self.folder / "t.sql"
        path.write_text("create table t (a int)")
        self.refused(1, 1, self.url, "--table", "t", "--schema-file", path, code=2,
                     pattern=r"is not a statement: ArangoDB has no SQL; write METHOD PATH \[JSON\]")
        path.write_text('POST /_api/collection {"name": "t", "numberOfShards": 2}\n'
                        'POST /_api/index?collection=t {"type": "persistent", "fields": ["a"]}\n')
        self.refused(1, 1, self.url + "?shards=5", "--table", "t", "--schema-file", path, code=2,
                     pattern="no column that append can write")
        self.assertEqual(self.collection("t").properties["numberOfShards"], 2)
        self.assertEqual(self.collection("t").indexes[0]["fields"], ["a"])


if __name__ == "__main__":
    harness.main()
