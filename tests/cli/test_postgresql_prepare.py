"""append prepare and cleanup on PostgreSQL."""

import signal
import subprocess

import harness
from prepare import Prepare


class Tables(Prepare, harness.Postgresql):
    def names(self, catalogue, column):
        names = self.sql(f"select {column} from {catalogue} where schemaname = 'public'")
        return set(names.split())

    def tables(self):
        return self.names("pg_tables", "tablename")

    def indexes(self):
        return self.names("pg_indexes", "indexname")

    def test_cleanup_is_interrupted(self):
        """Somebody reads a table while it is to be dropped."""
        script = ("--workload", "oltp", "--set", "tables=2,table_size=10")
        self.prepare(*script)
        reader = subprocess.Popen(["psql", "-X", "-q", self.url], stdin=subprocess.PIPE, text=True)
        self.addCleanup(reader.communicate)
        reader.stdin.write("begin; lock table sbtest2 in access share mode;\n")
        reader.stdin.flush()
        held = "select count(*) from pg_locks where relation = 'sbtest2'::regclass and {}granted"
        harness.wait_until(lambda: self.sql(held.format("")).strip() == "1", "the lock of the reader")
        process = self.start("cleanup", self.url, *script)
        harness.wait_until(lambda: self.sql(held.format("not ")).strip() == "1", "the drop")
        process.send_signal(signal.SIGINT)
        ended = self.end(process, 130)
        self.assertEqual(ended.reason, "append: interrupted after 1 table had been dropped")
        self.assertEqual(self.tables(), {"sbtest2"})
        reader.stdin.write("rollback;\n")
        reader.stdin.flush()
        self.append("cleanup", self.url, *script)
        self.assertEqual(self.tables(), set())


if __name__ == "__main__":
    harness.main()
