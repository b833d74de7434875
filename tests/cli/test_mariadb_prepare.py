"""append prepare and cleanup on MariaDB."""

import os
import re

import harness
from prepare import OTHERS, SLOW_SCRIPT, TRIGGERS, Prepare


class Tables(Prepare, harness.Mariadb):
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

    def test_rows_of_others_that_append_s_user_cannot_see(self):
        """A foreign key of a table in another database, which this user cannot see in the catalogue."""
        script = ("--workload", self.script(SLOW_SCRIPT))
        user, other = f"u{os.getpid()}", self.database + "_other"
        root_url = self.url.replace("append@", "root@")

        def root(*statements):
            return harness.mariadb(root_url, *statements)

        root(f"create user {user}@'%'", f"grant all on {self.database}.* to {user}@'%'",
             f"create database {other}")
        self.addCleanup(root, f"drop database {other}", f"drop user {user}@'%'")
        self.url = self.url.replace("append@", f"{user}@")
        self.interrupted(*script)
        root(f"create table {other}.child (id int primary key, foreign key (id) references"
             f" {self.database}.slow (id) on delete cascade) engine = innodb",
             f"insert into {other}.child select id from {self.database}.slow")
        before = root(f"select count(*) from {other}.child")
        self.sql("delete from slow where id between 9000 and 9009")  # the chunk is cut
        left = int(root(f"select count(*) from {other}.child"))
        self.assertEqual(left, int(before) - 10)
        self.prepare(*script)
        self.assertEqual(int(root(f"select count(*) from {other}.child")), left)
        self.assertEqual(self.counts("slow"), [60000])

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
