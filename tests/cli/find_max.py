"""Helpers that run append find-max, and check the files that each search writes."""

import json
import pathlib

import harness


class Search(harness.Run):
    """The files of a search."""

    FILES = ("summary.csv", "levels.csv", "samples.csv", "intervals.csv", "find-max.json")

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.json = json.loads((self.folder / "find-max.json").read_text())

    @property
    def search(self):
        return self.json["search"]

    @property
    def levels(self):
        return self.search["levels"]

    def level(self, sessions):
        """Returns the last level with this number of sessions."""
        return [level for level in self.levels if level["sessions"] == sessions][-1]


class Searching:
    """A mixin for a harness.Case."""

    def find_max(self, *arguments, code=0, **options):
        """Makes a whole search and checks its files. Returns (Ended, Search)."""
        out = self.out()
        ended = self.append("find-max", *arguments, "--out", out, code=code, **options)
        return ended, self.check_search(out, ended)

    def check_search(self, folder, ended, more=()):
        """Checks the files of a search; `more` are files that other searches do not have."""
        search = Search(folder)
        self.assertEqual({path.name for path in search.folder.iterdir()} - {"append.db"},
                         {*Search.FILES, *more,
                          *(["operations_intervals.csv"] if search.json["plan"]["workload"] else [])})
        self.assertEqual(search.json["outcome"]["exit_code"], ended.code)
        self.check_ledgers(search)
        self.assertTrue(search.json["sessions"]["balances"] and search.json["rows"]["balances"])
        self.assertEqual(sum(int(row["rows"]) for row in search.table("intervals.csv")),
                         search.rows["acknowledged"])
        self.check_levels(search)
        for line in ended.out.splitlines():
            if not ended.out.startswith("{") and not line.startswith(("Files", "Target")):  # they have paths
                self.assertLessEqual(len(line), 80, line)
        return search

    def check_levels(self, search):
        rows = search.table("levels.csv")
        self.assertEqual(len(rows), len(search.levels))
        for row, level in zip(rows, search.levels):
            for column, key in (("sessions", "sessions"), ("sessions_up", "up"),
                                ("sessions_refused", "refused"), ("outcome", "outcome")):
                self.assertEqual(row[column], str(level[key]), level)
            if level["outcome"] == "held":
                self.assertEqual(level["up"], level["sessions"], level)
                self.assertGreaterEqual(level["hold_s"], search.search["hold_s"] * 0.999, level)
                work, unit = ("append", "rows") if "append" in level else ("transaction", "transactions")
                self.assertGreater(level[unit], 0, level)
                self.assertGreaterEqual(level[work]["count"], level["sessions"], level)
        held = [level["sessions"] for level in search.levels if level["outcome"] == "held"]
        self.assertEqual(search.search["held"], max(held, default=0))

    def check_named(self, ended, search, limit, side, name):
        """The report and the file name the limit first."""
        first = search.json["findings"][0]
        self.assertEqual((first["limit"], first["side"], first["name"]), (limit, side, name))
        self.assertRegex(ended.out, rf"(?m)^Limit +{name} \({side}\)")
        return first
