"""The output of runs on MariaDB matches tests/golden."""

import goldens
import harness


class Test(goldens.Goldens):
    def test_mariadb(self):
        self.check("mariadb")


if __name__ == "__main__":
    harness.main()
