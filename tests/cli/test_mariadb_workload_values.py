"""Values of scripted workloads on MariaDB."""

import harness
import workload_values


class Parts(workload_values.Parts, harness.Mariadb):
    SLEEP = "sleep"


class Values(workload_values.Values, harness.Mariadb):
    LARGE = '"SELECT seq, repeat(\'x\', 1000) FROM seq_1_to_300000"'

    def test_a_mark_in_a_text_with_a_backslash(self):
        """The text of a parameter may also contain a NUL byte."""
        script = self.folder / "own.lua"
        script.write_text(r"""
            local s = statement("s", [[SELECT 'it\'s ?', ? # nor this?]], {"int32"})
            local l = statement("l", "SELECT length(?)", {"text(20)"})
            transaction("x", function()
                check(tonumber(l:one("a\0b")) == 3, "a NUL byte")
                local text, n = s:one(7)
                check(text == "it's ?" and tonumber(n) == 7, tostring(text))
            end)""")
        for prepared in ("yes", "no"):
            _, run = self.run_append(1, self.url, "--workload", script, "--transactions", 5,
                                     "--prepared", prepared)
            ledger = run.json["transactions"]
            self.assertEqual((ledger["committed"], ledger["checks_failed"]), (5, 0), run.causes)


if __name__ == "__main__":
    harness.main()
