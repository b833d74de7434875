"""append, mysqlslap and sysbench with the same rows on MariaDB.

Comparisons with count(*) use a MyISAM table, which stores its number of rows. On InnoDB each count(*)
reads the table, so only the server would be measured; InnoDB is measured without count(*).

mysqlslap measures from before its clients connect until they are gone, so its time is compared with
append's time from the first connect to the last disconnect. sysbench connects first and then measures,
like append's append phase.
"""

import pathlib

import compare
from measure import BATCH, Measured, insert_of, run_text

LUA = pathlib.Path(__file__).with_name("sysbench_append.lua")
# The character that separates statements for mysqlslap. No row contains this character.
DELIMITER = "\x02"
COUNT = "select count(*) from syslog_table"
# The targets for runs with count(*) after each batch: append's rows/s, divided by the rows/s of the
# other program
SESSIONS_WITH_TARGET = (100, 1000)
MYSQLSLAP_TARGET = compare.at_least(1.1)
SYSBENCH_TARGET = compare.at_least(1.2)


class Mariadb:
    def __init__(self, append, port, folder):
        self.append = append
        self.port = str(port)
        self.url = f"mariadb://append@127.0.0.1:{port}/append"
        self.folder = folder

    def client(self, program, *arguments):
        return [program, "--no-defaults", "--host=127.0.0.1", f"--port={self.port}",
                "--user=append", *arguments]

    def sql(self, statements):
        return run_text(self.client("mariadb", "--batch", "--skip-column-names", "--execute",
                                    statements, "append")).strip()

    def version(self):
        return "MariaDB " + self.sql("select version()")

    def empty(self):
        self.sql("truncate table syslog_table")

    def count(self):
        return int(self.sql(COUNT))

    def runner(self, read):
        return lambda sessions, rows: self.append.run(sessions, rows, self.url, "--read", read)

    def run_mysqlslap(self, sessions, rows, read):
        # --number-of-queries is the total of all clients.
        statements = rows // BATCH * (2 if read == "count" else 1)
        measured = Measured(self.client(
            "mysqlslap", "--no-drop", "--create-schema=append", f"--delimiter={DELIMITER}",
            f"--concurrency={sessions}", f"--number-of-queries={statements}",
            f"--query={self.folder}/mysqlslap-{read}.sql", "--csv"), self.folder)
        # The CSV line: engine, kind, mean seconds, minimum, maximum, clients, statements per client.
        measured.sessions_rate = rows / measured.find(r"^[^,]*,[^,]*,([\d.]+),")
        return measured

    def run_sysbench(self, sessions, rows, read):
        measured = Measured(
            ["sysbench", str(LUA), "--db-driver=mysql", "--mysql-host=127.0.0.1",
             f"--mysql-port={self.port}", "--mysql-user=append", "--mysql-db=append",
             f"--insert-file={self.folder}/insert.sql", f"--threads={sessions}",
             f"--count={'on' if read == 'count' else 'off'}", f"--events={rows // BATCH}",
             "--time=0", "run"], self.folder)
        measured.phase_rate = rows / measured.find(r"total time:\s+([\d.]+)s")
        return measured

    def make_table(self, engine):
        """Creates the table again, with one batch that append wrote."""
        self.append.run(1, BATCH, self.url, "--read", "none", "--recreate", "--engine", engine)
        found = self.sql("select engine from information_schema.tables where table_schema ="
                         " 'append' and table_name = 'syslog_table'")
        if found.lower() != engine:
            raise SystemExit(f"bench: the table's engine is {found}, not {engine}")

    def write_scripts(self, engine):
        """Writes the peers' statement: one INSERT of 100 rows that append itself wrote."""
        self.make_table(engine)
        insert = insert_of(run_text(self.client(
            "mysqldump", "--no-tablespaces", "--no-create-info", "--compact", "--extended-insert",
            "--skip-tz-utc", "--default-character-set=utf8mb4", "append", "syslog_table")))
        insert = insert.rstrip(";")
        if DELIMITER in insert:
            raise SystemExit("bench: a row contains the character between mysqlslap's statements")
        (self.folder / "insert.sql").write_text(insert)
        (self.folder / "mysqlslap-none.sql").write_text(insert + DELIMITER)
        (self.folder / "mysqlslap-count.sql").write_text(insert + DELIMITER + COUNT + DELIMITER)
        print(f"\n{engine}: statement of {len(insert):,} bytes for {BATCH} rows")

    def compare(self, engine, sessions, rows, read, rounds):
        shape = (sessions, compare.whole_batches(rows, sessions))
        has_target = read == "count" and sessions in SESSIONS_WITH_TARGET
        peers = [
            compare.Peer("mysqlslap", lambda *shape: self.run_mysqlslap(*shape, read),
                         compare.SESSIONS, MYSQLSLAP_TARGET if has_target else None),
            compare.Peer("sysbench", lambda *shape: self.run_sysbench(*shape, read),
                         compare.PHASE, SYSBENCH_TARGET if has_target else None),
        ]
        words = "with" if read == "count" else "without"
        compare.compare(f"MariaDB, {engine}, {words} count(*)", shape,
                        ("append", self.runner(read)), peers, self, rounds)

    def measure(self, number):
        print(f"\n{self.version()}")
        rounds = number("BENCH_ROUNDS", 3, 1)
        self.write_scripts("myisam")
        for sessions in (10, 100, 1000):
            self.compare("myisam", sessions, number("BENCH_MYISAM_ROWS", 1_000_000, 100_000),
                         "count", rounds)
        self.write_scripts("innodb")
        for sessions in (10, 100, 1000):
            self.compare("innodb", sessions, number("BENCH_INNODB_ROWS", 500_000, 100_000),
                         "none", rounds)
