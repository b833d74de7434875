"""append certify with SQLite, whose writers are killed in place of a server."""

import certify
import harness


class Own(certify.Power):
    def test_default(self):
        self.check_safe("--server", "sqlite")

    def test_synchronous_off(self):
        self.check_loses("--server", "sqlite", "--server-option", "synchronous=off", "--faults", "power:5")

    def test_proof(self):
        ended, certificate = self.certify("--server", "sqlite", "--prove", "--faults", "power:1", code=0)
        self.check_clean(ended, certificate, {"power": 1})
        self.assertGreater(certificate.json["proof"]["found"]["lost"], 0)


class Kills(certify.Certifying):
    def test_clean_and_repeated(self):
        ended, certificate = self.certify("--server", "sqlite", "--faults", "kill:3", code=0)
        self.check_clean(ended, certificate, {"kill": 3})
        self.check_repeats(certificate)


if __name__ == "__main__":
    harness.main()
