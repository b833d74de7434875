"""Runs on PostgreSQL print and write what tests/golden has."""

import goldens
import harness


class Test(goldens.Goldens):
    def test_postgresql(self):
        self.check("postgresql")


if __name__ == "__main__":
    harness.main()
