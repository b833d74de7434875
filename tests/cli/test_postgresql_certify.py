"""append certify with a PostgreSQL server of append's own."""

import subprocess

import certify
import harness


class OwnServer(certify.Power):
    def test_default(self):
        junit = self.folder / "junit.xml"
        certificate = self.check_safe("--server", "postgresql", "--junit", junit)
        self.check_junit(junit, certificate)

    def test_fsync_off(self):
        junit = self.folder / "junit.xml"
        certificate = self.check_loses("--server", "postgresql", "--server-option", "fsync=off", "--faults",
                                       "power:5", "--junit", junit)
        self.check_junit(junit, certificate)
        self.assertEqual(certificate.series["settings"]["fsync"], "off")

    def test_commits_that_are_not_waited_for(self):
        self.check_loses("--server", "postgresql", "--server-option", "synchronous_commit=off", "--faults",
                         "power:5")

    def test_proof(self):
        junit = self.folder / "junit.xml"
        ended, certificate = self.certify("--server", "postgresql", "--prove", "--faults", "power:1", "--junit",
                                          junit, code=0)
        self.check_clean(ended, certificate, {"power": 1})
        self.assertGreater(certificate.json["proof"]["found"]["lost"], 0)
        self.assertEqual(certificate.json["proof"]["options"], "fsync=off")
        self.assertEqual(certificate.json["proof"]["settings"]["fsync"], "off")
        self.assertEqual(certificate.series["settings"]["fsync"], "on")
        self.assertIn("The check is proven", ended.out)
        self.check_junit(junit, certificate)

    def test_xfs(self):
        """Its log is not flushed either when the power is cut."""
        ended, certificate = self.certify("--server", "postgresql", "--file-system", "xfs", "--prove", "--faults",
                                          "power:3", code=0)
        self.check_clean(ended, certificate, {"power": 3})
        self.assertGreater(certificate.json["proof"]["found"]["lost"], 0)

    def test_too_many_settings(self):
        settings = " ".join(f"a.b{number}=1" for number in range(60))
        ended, _ = self.certify("--server", "postgresql", "--faults", "kill:1", "--server-option", settings, code=2)
        self.assertRegex(ended.reason, "--server-option: too many settings: leave out 'a.b")

    def test_full_disk(self):
        place = self.folder / "small"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "append-test", str(place)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=True)
        ended = self.append("certify", 2, "--server", "postgresql", "--faults", "power:1", "--out", place / "run",
                            code=3)
        self.assertRegex(ended.reason, "cannot make the disk image .*No space left on device.*--out")
        self.check_nothing_left()


if __name__ == "__main__":
    harness.main()
