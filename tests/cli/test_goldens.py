"""The output of runs without a server matches tests/golden."""

import goldens
import harness


class Test(goldens.Goldens):
    def test_serverless(self):
        self.check("serverless")


if __name__ == "__main__":
    harness.main()
