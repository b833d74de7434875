"""The scripts of docs/workloads.md, on any database."""

import re

import harness

PAGE = harness.ROOT / "docs" / "workloads.md"
REFERENCE = harness.ROOT / "docs" / "workloads-reference.md"


def scripts(folder):
    """Writes the scripts of the page, each as a file. Returns their paths."""
    text = PAGE.read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"^```lua\n(.*?)^```$", text, re.S | re.M)):
        path = folder / f"step{number + 1}.lua"
        path.write_text(block, encoding="utf-8")
        yield path


class Runs:
    """Runs each script; target(path) returns its target."""

    def target(self, path):
        raise NotImplementedError

    def test_scripts_run(self):
        count = 0
        for path in scripts(self.folder):
            with self.subTest(path.name):
                words = (self.target(path), "--workload", path)
                self.append("prepare", 1, *words)
                # On SQLite a transaction that reads and then writes may find the database busy: on a slow
                # disk ten times in a row.
                ended, run = self.run_append(20, *words, "--transactions", 50, "--tries", 0)
                ledger = run.json["transactions"]
                self.assertEqual(ledger["begun"], 50, ledger)
                self.assertEqual(ledger["begun"], ledger["committed"] + ledger["rolled_back"])
                self.assertEqual(ledger["checks_failed"], 0, ledger)
                if ledger["found_percent"] is not None:
                    self.assertRegex(ended.out,
                                     rf"(?m)^Found +{ledger['found_percent']:.2f} % of \d+ calls to found\(\)$")
                self.append("cleanup", *words)
                count += 1
        self.assertGreaterEqual(count, 6)
