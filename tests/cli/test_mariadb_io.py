"""The size of InnoDB tables, which needs a privilege; and charts over rows."""

import harness

MIB = 1 << 20


class Sizes(harness.Mariadb):
    def file_bytes(self, name):
        return int(self.root(
            "select sum(allocated_size) from information_schema.innodb_sys_tablespaces where "
            f"name like '{self.database}/{name}%'"))

    def test_user_without_the_privilege(self):
        _, run = self.run_append("2", "1000", self.url)
        self.assertIsNone(run.json["io"]["table_mib_after"])
        self.assertIn("GRANT PROCESS", run.json["io"]["note"])

    def test_engine_that_shows_its_sizes(self):
        _, run = self.run_append("2", "10000", self.url, "--engine", "MyISAM")
        catalogue_bytes = int(self.root(f"select data_length + index_length from information_schema.tables "
                             f"where table_schema = '{self.database}'"))
        self.assertAlmostEqual(run.json["io"]["table_mib_after"] * MIB, catalogue_bytes, delta=1)

    def test_sizes_and_charts_against_rows(self):
        url = self.url.replace("append@", "root@")
        folders = []
        for partitions in (0, 3):
            self.append("cleanup", url, "--workload", "mass-insert")
            _, run = self.run_append(
                "4", url, "--workload", "mass-insert", "--set",
                f"partitions={partitions},batch=100", "--duration", "3s", "--sample-interval",
                "0.5", "--mark", "1=half way")
            io = run.json["io"]
            self.assertAlmostEqual(io["table_mib_after"] * MIB, self.file_bytes("test"), delta=1)
            self.assertGreater(io["table_mib_after"], io["table_mib_before"])
            rows = run.rows["acknowledged"]
            self.assertAlmostEqual(io["disk_bytes_per_row"], self.file_bytes("test") / rows,
                                   delta=0.1)
            folders.append(run.folder)
        page = self.folder / "rows.html"
        self.append("report", "--x-axis", "rows", *folders, "--out", page)
        text = page.read_text()
        for title in ("Rows acknowledged each second", "Tables on disk"):
            self.assertIn(f">{title}</b>", text)
        self.assertIn('data-across="rows"', text)
        self.assertNotIn('data-across="time"', text)
        self.assertIn("rows in the tables", text)
        one = self.folder / "one.html"
        self.append("report", "--x-axis", "rows", folders[0], "--out", one)
        self.assertIn('class="mark"', one.read_text())
        self.append("report", "--x-axis", "time", folders[0], "--out", one)
        self.assertIn('data-across="time"', one.read_text())
        self.refused("report", "--x-axis", "bytes", folders[0], code=2, pattern="time or rows")


if __name__ == "__main__":
    harness.main()
