"""The reported limits are the server's real limits: limits set low, sessions opened until refused."""

import harness


class SessionLimits(harness.Case):
    SESSIONS = 30

    def limits(self, run):
        return {limit["name"]: limit for limit in run.json["server"]["session_limits"]}

    def check(self, url, name, allowed, *options, code=4):
        """Opens more sessions than fit; as many as the limit allows must connect."""
        # The sessions connect one after the other: MariaDB accepts a connection above max_connections
        # until it knows whether the user is an administrator, and until then it refuses other logins.
        _, run = self.run_append(self.SESSIONS, self.SESSIONS * 50, url, "--recreate", "--no-check",
                                 "--connect-concurrency", "1", *options, code=code)
        limits = self.limits(run)
        self.assertIn(name, limits)
        self.assertEqual(limits[name]["allowed"], allowed, limits)
        # append's own connection, which read the limits, counts as used; it is closed before the
        # sessions connect
        room = min(limit["allowed"] - limit["used"] + 1 for limit in limits.values())
        self.assertEqual(room, limits[name]["allowed"] - limits[name]["used"] + 1, limits)
        # sessions of an earlier run may have left after append read the limits
        self.assertIn(run.sessions["connected"],
                      range(min(room, self.SESSIONS), min(allowed, self.SESSIONS) + 1), limits)
        return limits
