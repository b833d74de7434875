"""append prepare and cleanup on MariaDB."""

import re

import harness
from prepare import OTHERS, TRIGGERS, BesideOthers, Prepare


class Tables(BesideOthers, Prepare, harness.Mariadb):
    def names(self, catalogue, column):
        names = self.sql(f"select distinct {column} from information_schema.{catalogue}"
                         " where table_schema = database()")
        return set(names.split())

    def tables(self):
        return self.names("tables", "table_name")

    def indexes(self):
        return self.names("statistics", "index_name")

    TRIGGER = TRIGGERS["mariadb"]

    def test_comments_of_others(self):
        self.others_table()
        self.sql("alter table log1 comment = 'made by append, they say'")
        self.refused_others("--workload", self.script(OTHERS, "others.lua"))
        self.assertIn("they say", self.sql("show create table log1"))

    def test_a_copy_in_another_database(self):
        """CREATE TABLE ... LIKE copies the comment."""
        script = ("--workload", self.script(OTHERS, "others.lua"))
        self.prepare(*script)
        other = self.database + "_copy"
        self.sql(f"create database {other}", f"create table {other}.log1 like log1",
                 f"insert into {other}.log1 select * from log1")
        self.addCleanup(self.sql, f"drop database {other}")
        self.refused("cleanup", self.url.replace(self.database, other), *script, code=2,
                     pattern="append did not make table 'log1'")
        self.assertEqual(self.counts(f"{other}.log1"), [100])

    def test_a_database_that_a_run_made(self):
        """Without a database in the URL a run uses the database "append"."""
        server = harness.PrivateMariadb(self)
        harness.mariadb(server.superuser_url, "drop database append")
        url = re.sub(r"/append$", "", server.superuser_url)
        removal = "drop database append /* made by this run */"
        self.assertIn(removal, " ".join(self.append(2, 100, url, "--out", self.out(), code=None).out.split()))
        self.assertNotIn(removal, " ".join(self.append(2, 100, url, "--out", self.out(), code=None).out.split()))


if __name__ == "__main__":
    harness.main()
