"""What runs without a server print and write is what tests/golden says."""

import goldens
import harness


class Test(goldens.Goldens):
    def test_serverless(self):
        self.check("serverless")


if __name__ == "__main__":
    harness.main()
