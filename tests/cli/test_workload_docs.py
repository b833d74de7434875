"""Every script of docs/workloads.md does what the page says."""

import re

import harness

PAGE = harness.ROOT / "docs" / "workloads.md"
BUILT_IN = sorted(path.stem for path in (harness.ROOT / "workloads").glob("*.lua"))


class Page(harness.Case):
    def setUp(self):
        super().setUp()
        self.text = PAGE.read_text(encoding="utf-8")

    def scripts(self):
        """The scripts of the page, each as a file."""
        for number, block in enumerate(re.findall(r"^```lua\n(.*?)^```$", self.text, re.S | re.M)):
            path = self.folder / f"step{number + 1}.lua"
            path.write_text(block, encoding="utf-8")
            yield path

    def test_scripts_run(self):
        count = 0
        for path in self.scripts():
            with self.subTest(path.name):
                target = f"sqlite:{self.folder}/{path.stem}.db"
                self.append("prepare", 1, target, "--workload", path)
                ended, run = self.run_append(2, target, "--workload", path, "--transactions", 50)
                ledger = run.json["transactions"]
                self.assertEqual(ledger["begun"], 50, ledger)
                self.assertEqual(ledger["begun"], ledger["committed"] + ledger["rolled_back"])
                self.assertEqual(ledger["checks_failed"], 0, ledger)
                if ledger["found_percent"] is not None:
                    self.assertRegex(ended.out,
                                     rf"(?m)^Found +{ledger['found_percent']:.2f} % of \d+$")
                self.append("cleanup", target, "--workload", path)
                count += 1
        self.assertGreaterEqual(count, 6)

    def test_help_of_scripts(self):
        for name in (*BUILT_IN, *self.scripts()):
            with self.subTest(name):
                text = self.append("help", name).out
                names = re.findall(r"^  (\w+)=", text, re.M)
                plan = self.append(1, 1, "null:", "--workload", name, "--plan").out
                self.assertEqual(names, re.findall(r"^  (\w+)=", plan, re.M))
                self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_every_name_of_the_interface_is_there(self):
        source = (harness.ROOT / "src" / "script" / "script.c").read_text(encoding="utf-8")
        names = re.findall(r'^        \{"(\w+)", (?:declare|make|call)_', source, re.M)
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertTrue(re.search(rf"`{name}\b", self.text), name)
        options = set(re.findall(r'lua_getfield\(lua, [34], "(\w+)"\)', source))
        options |= set(re.findall(r'option_\w+\(lua, 4, "(\w+)"\)', source))
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertTrue(re.search(rf"\b{option}\b", self.text), option)
        kinds = (harness.ROOT / "src" / "script" / "draw.c").read_text(encoding="utf-8")
        kinds = re.findall(r'\[KEYS_\w+\] = "(\w+)"', kinds)
        self.assertEqual(len(kinds), 11)
        for kind in kinds:
            self.assertTrue(f"\n| `{kind}` |" in self.text, kind)

    def test_every_built_in_script_is_there(self):
        self.assertGreaterEqual(len(BUILT_IN), 7)
        for name in BUILT_IN:
            self.assertTrue(f"\n| `{name}` |" in self.text, name)

    def test_what_other_tools_call_their_options_leads_to_parameters(self):
        """--set of the page names parameters of the script that it is for."""
        ours = self.text[self.text.index("## For those who come from"):]
        parts = {"sysbench": "oltp", "pgbench": "tpcb", "YCSB": "ycsb"}
        for part, workload in parts.items():
            chapter = ours[ours.index(f"### {part}\n"):].split("\n### ")[0]
            plan = self.append(1, 1, "null:", "--workload", workload, "--plan").out
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
