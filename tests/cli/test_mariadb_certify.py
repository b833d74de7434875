"""append certify with a MariaDB server of append's own."""

import certify
import harness


class OwnServer(certify.Power):
    def test_innodb(self):
        self.check_safe("--server", "mariadb")

    def test_log_written_without_flush(self):
        self.check_loses("--server", "mariadb", "--server-option", "innodb-flush-log-at-trx-commit=2", "--faults",
                         "power:5")

    def test_log_written_once_a_second(self):
        self.check_loses("--server", "mariadb", "--server-option", "innodb-flush-log-at-trx-commit=0", "--faults",
                         "kill:5")

    def check_engine(self, engine, sessions):
        """Checks that an engine without flushes does not survive a power loss. When another program has called
        sync, a part of the rows and the index is on the disk, and the table cannot be read."""
        _, certificate = self.certify("--server", "mariadb", "--engine", engine, "--faults", "power:5",
                                      sessions=sessions, code=1)
        self.assertEqual(certificate.json["verdict"], "broken")
        self.assertGreater(certificate.found.get("half", 0) + certificate.found.get("lost", 0)
                           + len(certificate.failures), 0)

    def test_myisam(self):
        self.check_engine("MyISAM", 4)

    def test_aria(self):
        """Aria has no transactions over two tables. Many sessions: a fault must strike between two tables."""
        self.check_engine("Aria", 24)

    def test_proof_that_cannot_be_given(self):
        """A proof needs a run that loses rows. A log whose writes all wait for the disk loses none, even without
        flushes."""
        junit = self.folder / "junit.xml"
        ended, certificate = self.certify("--server", "mariadb", "--prove", "--faults", "power:1", "--server-option",
                                          "innodb-flush-method=O_DSYNC", "--junit", junit, code=6)
        self.assertEqual(certificate.json["verdict"], "unproven")
        self.assertEqual(certificate.series["results"], [])
        self.assertEqual(len(certificate.json["proof"]["results"]), 5)
        self.assertRegex(ended.reason, "5 faults with innodb-.* lost no acknowledged row, but should have lost some")
        self.check_junit(junit, certificate)

    def test_half_transactions_prove_nothing(self):
        """MyISAM loses no row in a kill, but leaves transactions over two tables half written."""
        _, certificate = self.certify("--server", "mariadb", "--engine", "MyISAM", "--prove", "--faults", "kill:1",
                                      code=6)
        self.assertEqual(certificate.json["proof"]["found"]["lost"], 0)


if __name__ == "__main__":
    harness.main()
