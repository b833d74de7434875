"""What runs on MariaDB print and write is what tests/golden says."""

import goldens
import harness


class Test(goldens.Goldens):
    def test_mariadb(self):
        self.check("mariadb")


if __name__ == "__main__":
    harness.main()
