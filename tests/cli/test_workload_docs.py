"""The scripts of docs/workloads.md on SQLite, and the names of docs/workloads-reference.md."""

import re

import harness
import workload_docs

BUILT_IN = sorted(path.stem for path in (harness.ROOT / "workloads").glob("*.lua"))


class Page(workload_docs.Runs, harness.Case):
    def setUp(self):
        super().setUp()
        self.text = workload_docs.PAGE.read_text(encoding="utf-8")
        self.reference = workload_docs.REFERENCE.read_text(encoding="utf-8")

    def target(self, path):
        return f"sqlite:{self.folder}/{path.stem}.db"

    def test_a_search_takes_a_script(self):
        out = self.out()
        ended = self.append("find-max", f"sqlite:{self.folder}/search.db", "--workload", "ycsb",
                            "--set", "preset=c", "--hold", "1s", "--first", 2, "--max-sessions", 4,
                            "--out", out, code=None)
        self.assertIn(ended.code, (0, 6), ended)
        self.assertRegex(ended.out, r"(?m)^Written +the workload.s tables, kept; to remove them: append cleanup")
        self.assertTrue((out / "find-max.json").exists())

    def test_help_of_scripts(self):
        for name in (*BUILT_IN, *workload_docs.scripts(self.folder)):
            with self.subTest(name):
                text = self.append("help", name).out
                names = re.findall(r"^  (\w+)=", text, re.M)
                plan = self.append(20, "null:", "--workload", name, "--transactions", 20,
                                   "--plan").out
                self.assertEqual(names, re.findall(r"^  (\w+)=", plan, re.M))
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_every_name_of_the_interface_is_there(self):
        source = "".join((harness.ROOT / "src" / "script" / name).read_text(encoding="utf-8")
                         for name in ("sandbox.c", "values.c", "declare.c", "run.c"))
        names = re.findall(r'\{"(\w+)", (?:declare|make|call)_', source)
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertTrue(re.search(rf"`{name}\b", self.reference), name)
        options = set(re.findall(r'lua_getfield\(lua, [34], "(\w+)"\)', source))
        options |= set(re.findall(r'option_\w+\(lua, 4, "(\w+)"\)', source))
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertTrue(re.search(rf"\b{option}\b", self.reference), option)
        kinds = (harness.ROOT / "src" / "script" / "draw.c").read_text(encoding="utf-8")
        kinds = re.findall(r'\[KEYS_\w+\] = "(\w+)"', kinds)
        self.assertEqual(len(kinds), 11)
        for kind in kinds:
            self.assertTrue(f"\n| `{kind}` |" in self.reference, kind)

    def test_every_built_in_script_is_there(self):
        self.assertGreaterEqual(len(BUILT_IN), 7)
        for name in BUILT_IN:
            self.assertTrue(f"\n| `{name}` |" in self.text, name)

    def test_what_other_tools_call_their_options_leads_to_parameters(self):
        """Every --set of the page names parameters of its script."""
        ours = self.reference[self.reference.index("## For users of other tools"):]
        parts = {"sysbench": "oltp", "pgbench": "tpcb", "YCSB": "ycsb"}
        for part, workload in parts.items():
            chapter = ours[ours.index(f"### {part}\n"):].split("\n### ")[0]
            plan = self.append(20, "null:", "--workload", workload, "--transactions", 20,
                               "--plan").out
            known = set(re.findall(r"^  (\w+)=", plan, re.M))
            named = set()
            for words in re.findall(r"`[^`]*--set ([^` ]+)", chapter):
                named |= {word.split("=")[0].strip("…") for word in words.split(",")} - {""}
            self.assertGreater(len(named), 1, part)
            if part == "pgbench":
                named -= {"rows"}
            self.assertEqual(named - known, set(), part)


if __name__ == "__main__":
    harness.main()
