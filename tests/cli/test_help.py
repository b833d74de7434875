"""--help, --version and --plan."""

import re
import shlex
import subprocess

import harness

OPTIONS = (
    "--adapter --host --user --password-file --database --table --schema --schema-file --recreate"
    " --method --batch --read --read-every --data --values --skip-columns --seed --rate --duration --connect-concurrency"
    " --connect-timeout --sample-interval --server-pid --server-cgroup --on-drop --out --quiet"
    " --json --stack-size --help --version --plan --port --sessions --progress"
).split()
COMMANDS = ("check", "compare", "find-max", "sweep", "prepare", "dry-run", "cleanup", "certify", "help")


class Help(harness.Case):
    def test_help_fits_and_is_whole(self):
        ended = self.append("--help")
        self.assertEqual(ended.err, "")
        for line in ended.out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        for word in (*OPTIONS, "SESSIONS", "RECORDS", "TARGET", "APPEND_PASSWORD", "null", "sqlite"):
            self.assertIn(word, ended.out)

    def test_the_documents_have_every_option(self):
        paths = [harness.ROOT / "README.md", *(harness.ROOT / "docs").rglob("*.md")]
        text = "".join(path.read_text(encoding="utf-8") for path in paths)
        options = {line.split()[0] for command in ([], *([name] for name in COMMANDS))
                   for line in self.append(*command, "--help").out.splitlines()
                   if line.startswith("  --")}
        self.assertGreater(len(options), 40)
        missing = [option for option in options if not re.search(rf"`{option}\b", text)]
        self.assertEqual(missing, [])

    def test_examples_work_as_printed(self):
        """The first example of each command needs no server. The examples run one after the other in one folder,
        except those with a server of append's own, which take minutes and need root."""
        if "sqlite" not in self.append("--version").out:
            self.skipTest("no SQLite in this build")
        for name in ("run", "check", "find-max", "report", "compare", "sweep", "prepare", "dry-run", "cleanup",
                     "certify", "help"):
            text = self.append("help", name).out
            examples = re.search(r"(?m)^Example:\n((?:  append .*\n)+)", text).group(1).splitlines()
            self.assertNotIn(" 5432", examples[0])
            for example in examples:
                if " 5432" not in example and "--server postgresql" not in example:
                    self.append(*shlex.split(example)[1:])

    def test_every_command_is_listed(self):
        for name in COMMANDS:
            self.assertIn(f"append {name} ", self.append("--help").out)

    def test_links_lead_somewhere(self):
        for path in (harness.ROOT / "README.md", *(harness.ROOT / "docs").rglob("*.md")):
            text = path.read_text(encoding="utf-8")
            links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
            for link in links:
                self.assertTrue((path.parent / link).exists(), f"{path}: {link}")

    def test_help_wins_over_the_rest(self):
        self.assertIn("--connect-concurrency", self.append("50", "1000", "null:", "--help").out)

    def test_every_way_to_ask(self):
        for name in ("check", "find-max", "report", "compare", "sweep", "prepare", "dry-run", "cleanup", "certify"):
            text = self.append(name, "--help").out
            for words in ([name, "-h"], [name, "-?"], ["help", name]):
                self.assertEqual(self.append(*words).out, text, words)
        text = self.append("--help").out
        for words in (["-h"], ["-?"], ["help"], ["help", "run"], ["run", "--help"],
                      ["50", "1000", "null:", "-h"]):
            self.assertEqual(self.append(*words).out, text, words)
        text_of_help = self.append("help", "help").out
        self.assertIn("append help [COMMAND|WORKLOAD]", text_of_help)
        for word in ("--help", "-h", "-?"):
            self.assertEqual(self.append("help", word).out, text_of_help, word)
        for word, answer in (("--anything=x", "unknown option '--anything': use append help"),
                             ("-x", "unknown option '-x': use append help"),
                             ("5", "'5' is not a command: for a run"), ("version", "'version' is not a command: for a run"),
                             ("runn", "unknown command 'runn': did you mean 'run'")):
            self.refused("help", word, code=2, pattern=answer)
        self.assertIn("HOST:PORT", self.append("help", "find-max").out)
        self.assertRegex(text, r"(?m)^  --user NAME \(-U\) +\S")

    def test_workloads(self):
        for path in (harness.ROOT / "workloads").glob("*.lua"):
            name, text = path.stem, self.append("help", path.stem).out
            self.assertEqual(text, self.append("help", path).out, "a file is described like a built-in one")
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertIn(f"--workload {name}", text, "an example")
            for parameter in re.findall(r'param\("(\w+)"', path.read_text(encoding="utf-8")):
                self.assertRegex(text, rf"(?m)^  {parameter}=")
            self.assertRegex(text, r"(?m)^Tables$(?s:.)*^Transactions$")
        text = self.append("help", "oltp").out
        self.assertIn("read_only, write_only or point_select", text)
        self.assertRegex(text, r"(?m)^  sbtest1 +10,000 rows: id, k, c, pad$")
        self.assertRegex(text, r"(?m)^  read_write +weight 1, begun and committed, tried until")
        self.assertRegex(text, r"(?m)^  index +UPDATE sbtest1 SET k=k\+1 WHERE id=\?$")
        self.assertRegex(self.append("help", "tpcc").out,
                         r"(?m)^Invariants, checked after the run\n  1 +w_ytd is the sum of the districts' d_ytd$")
        self.refused("help", "otlp", code=2, pattern=r"'oltp'")
        self.refused("help", "./nowhere.lua", code=2, pattern=r"nowhere\.lua.*No such file")
        self.refused("help", "./", code=2, pattern=r"is a folder: name a Lua file")
        self.refused("oltp", "5", code=2, pattern=r"--workload oltp")

    def test_version(self):
        self.assertEqual(self.append("-V").out, self.append("--version").out)
        ended = self.append("--version")
        self.assertRegex(ended.out, r"^append \d+\.\d+\.\d+\b")
        self.assertIn("null", ended.out)

    def test_an_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            code = subprocess.run([harness.BINARY, "--help"], stdout=full,
                                  stderr=subprocess.DEVNULL).returncode
        self.assertNotEqual(code, 0)


class Plan(harness.Case):
    def test_quotas_spread_the_remainder(self):
        ended = self.append("7", "100", "null:", "--plan")
        self.assertRegex(ended.out, r"(?m)^quotas: 15\+15\+14\+14\+14\+14\+14$")
        self.assertEqual(list(self.folder.iterdir()), [], "--plan leaves nothing behind")

    def test_even_quotas(self):
        self.assertRegex(self.append("4", "100", "null:", "--plan").out,
                         r"(?m)^quotas: 25\+25\+25\+25$")

    def test_it_does_not_connect(self):
        ended = self.append("2", "100", "postgresql://nobody@127.0.0.1:1/x", "--plan")
        self.assertRegex(ended.out, r"(?m)^quotas: 50\+50$")

    def test_it_checks_the_plan(self):
        self.refused("100", "7", "null:", "--plan", code=2, pattern="RECORDS 7 is less than SESSIONS 100")
        self.assertIn("--plan prints a text: leave out --json",
                      self.append("2", "100", "null:", "--plan", "--json", code=2).err)

    def test_the_password_is_not_shown(self):
        self.append("1", "1", "postgresql://u:append%20secret@127.0.0.1:1/x", "--plan")
        ended = self.append("1", "1", "postgresql://u:hidden-word@127.0.0.1:1/x", "--plan")
        self.assertNotIn("hidden-word", ended.out + ended.err)


if __name__ == "__main__":
    harness.main()
