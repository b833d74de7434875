"""--options FILE and --print-options."""

import os

import harness


class Files(harness.Case):
    def write(self, text, name="load.conf"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def test_a_whole_run(self):
        file = self.write("# a load\n\n  include sub/more.conf\nrecords = 3k\ntarget = null:\nbatch=10\n"
                          "expect = rows_acknowledged == 3000\nretry-failed\n")
        self.write("sessions = 3\nbatch = 20\nquiet\nexpect = dropped==0\n", "sub/more.conf")
        _, run = self.run_append("--options", file)
        self.assertEqual((run.sessions["requested"], run.rows["acknowledged"]), (3, 3000))
        plan = run.json["plan"]
        self.assertEqual((plan["batch_rows"], plan["quiet"]), (10, True))
        self.assertEqual(plan["expect"], ["dropped==0", "rows_acknowledged == 3000"])
        files = plan["options_files"].split(", ")
        self.assertEqual([entry.split(" ")[0] for entry in files],
                         [str(file), str(self.folder / "sub/more.conf")])
        self.assertRegex(files[0], " [0-9a-f]{16}$")

    def test_the_command_line_wins(self):
        """Options and operands are replaced one by one; those that may be given several times are added."""
        file = self.write("sessions = 3\nrecords = 3000\ntarget = null:\nbatch = 10\nexpect = dropped==0\n"
                          "skip-columns = n3\n")
        for words, sessions, records, target in (
                ((), 3, 3000, "null:"),
                ((2, 1000, "null:"), 2, 1000, "null:"),
                ((2, 1000), 2, 1000, "null:"),
                ((2, "sqlite:" + str(self.folder / "own2.db")), 2, 3000, "sqlite:" + str(self.folder / "own2.db")),
                (("-c", 2), 2, 3000, "null:"),
                (("sqlite:" + str(self.folder / "own.db"),), 3, 3000, "sqlite:" + str(self.folder / "own.db"))):
            with self.subTest(words):
                _, run = self.run_append("--batch", 5, *words, "--options", file, "--expect", "refused==0",
                                         "--skip-columns", "n2", code=None)
                plan = run.json["plan"]
                self.assertEqual((plan["sessions"], plan["records"], plan["target"]["display"]),
                                 (sessions, records, target))
                self.assertEqual((plan["batch_rows"], plan["skip_columns"]), (5, "n2"))
                self.assertEqual(plan["expect"], ["dropped==0", "refused==0"])

    def test_a_number_alone(self):
        """A single number may be meant as SESSIONS or as a port."""
        for text in ("sessions = 3\nrecords = 30\ntarget = null:\n", "sessions = 3\nduration = 1\n"):
            self.refused("--options", self.write(text), 5432, code=2,
                         pattern="'5432' on the command line may be SESSIONS or a port: write -c N or localhost:PORT")
        _, run = self.run_append(2, "--options", self.write("records = 30\ntarget = null:\nbatch = 5\n"))
        self.assertEqual((run.sessions["requested"], run.rows["acknowledged"]), (2, 30))

    def test_printed_and_read(self):
        words = ("--batch", 7, "--out", "there", "--expect", "lost==0, dropped==0", "--read=none", "--seed", 5)
        printed = self.append(3, "10k", "null:", *words, "--print-options").out
        self.assertEqual(printed.splitlines(),
                         ["batch = 7", "out = there", "expect = lost==0, dropped==0", "read = none", "seed = 5",
                          "sessions = 3", "records = 10000", "target = null:"])
        file = self.write(printed)
        self.assertEqual(self.append("--options", file, "--print-options").out.splitlines()[0], "batch = 7")
        self.assertEqual(self.append("--options", file, "--plan").out,
                         self.append(3, "10k", "null:", *words, "--plan").out)

    def test_no_password_is_printed(self):
        url = f"postgresql://me:{harness.SECRET}@127.0.0.1/db"
        for words, name in (((1, 10, url), "target"), ((1, 10, "null:", "--database", url), "database")):
            ended = self.append(*words, "--print-options")
            self.assertIn(f"# {name} has a password, which is left out: complete the next line\n{name} =\n", ended.out)
            self.assertNotIn(harness.SECRET, ended.out + ended.err)
            self.refused("--options", self.write(ended.out), code=2, pattern=f"'?{name}'? .*(needs a value|empty)")
        ended = self.append(2, 10, "null:", "--values", "msg=a@b|c@d", "--read", "select a=1;", "--print-options")
        self.assertIn("values = msg=a@b|c@d\nread = select a=1;\n", ended.out)
        for line in (f"target {url}", f"target: {url}", url, f"{url} = x"):
            self.refused(1, 10, "null:", "--options", self.write(line + "\n"), code=2, pattern="write NAME = VALUE")

    def test_a_password_from_a_pipe(self):
        """Each option is stored once, so a pipe is read once, also for all runs of a sweep."""
        file, out = self.write("batch = 5\n"), self.out()
        sizes = ("--sessions", "1,2", "--records", 10)
        for words, said in (((1, 10, "null:", "--plan", "--options", file), "batch: 5 rows"),
                            (("sweep", *sizes, "null:", "--out", out, "--options", file), "2 of 2 done"),
                            (("sweep", "--resume", out), "2 of 2 done")):
            with self.subTest(words=words):
                reader, writer = os.pipe()
                os.write(writer, b"secret\n")
                os.close(writer)
                ended = self.append(*words, "--password-file", f"/dev/fd/{reader}", pass_fds=(reader,))
                os.close(reader)
                self.assertIn(said, ended.out)

    def test_what_a_file_cannot_hold(self):
        for value in ("select 1\nfrom t", " a=1", "a=1 "):
            self.refused(1, 10, "null:", "--read", value, "--print-options", code=2,
                         pattern="'read' has a line break, or begins or ends with a blank")
        self.refused(1, 10, "sqlite:a.db\nbatch = 3", "--print-options", code=2, pattern="'target' has a line break")
        self.assertIn("sessions = 4\n", self.append("prepare", 4, "null:", "--workload", "oltp", "--print-options").out)
        self.assertNotIn("sessions", self.append("prepare", "--workload", "oltp", "null:", "--print-options").out)

    def test_one_file_for_all_commands(self):
        file = self.write(f"workload = select-insert\nset = rows=50\ntransactions = 20\nsessions = 2\n"
                          f"target = sqlite:{self.folder / 'own.db'}\nmax-sessions = 3\n")
        self.assertIn("50 rows loaded", self.append("prepare", "--options", file).out)
        _, run = self.run_append("--options", file, code=None)
        self.assertEqual(run.json["transactions"]["committed"], 20)
        self.assertIn("dropped", self.append("cleanup", "--options", file).out)

    def test_sweep_and_search(self):
        file = self.write("sessions = 1,2\nrecords = 10,20\ntarget = null:\nbatch = 5\n")
        out = self.out()
        self.append("sweep", "--options", file, "--out", out)
        self.assertEqual(len(list(out.glob("*/run.json"))), 4)
        file.unlink()  # the sweep has its options
        self.append("sweep", "--resume", out)
        file = self.write("max-sessions = 3\nhold = 100ms\ntarget = null:\nbatch = 5\n")
        ended = self.append("find-max", "--options", file, "--out", self.out(), code=None)
        self.assertIn("3 sessions", ended.out)

    def test_words_that_look_like_options(self):
        file = self.write("target = --help\nrecords = 5\nsessions = 1\n")
        self.refused("--options", file, code=2, pattern="target '--help' is not a port")
        self.assertIn("SESSIONS", self.append("--options", "missing.conf", "--help").out)
        self.assertIn("batch: 7", self.append("--opti", self.write("\ufeffbatch = 7\n"), 1, 10, "null:", "--plan").out)

    def test_wrong(self):
        self.write("durration = 5\n", "included.conf")
        for text, pattern in (
                ("\n\ndurration = 5\n", "load.conf: line 3: unknown option 'durration': did you mean 'duration'"),
                ("include included.conf\n", "included.conf: line 1: unknown option 'durration'"),
                ("include load.conf\n", "line 1: include load.conf: files include each other"),
                ("include nothing.conf\n", "nothing.conf cannot be read: No such file"),
                ("batch = x\n", "line 1: --batch 'x' is not a whole number from 1"),
                ("batch 5\n", "line 1: 'batch' has no = after it: write NAME = VALUE"),
                ("batch\n", "line 1: 'batch' needs a value: write batch = VALUE"),
                ("include = x\n", "line 1: 'include' is written without '=': include FILE"),
                ("include\n", "line 1: 'include' needs the path of a file"),
                ("records = x\n", "line 1: RECORDS 'x' is not a whole number"),
                ("quiet = yes\n", "line 1: 'quiet' takes no value"),
                ("target\n", "line 1: 'target' needs a value"),
                ("options = other.conf\n", "line 1: 'options' is for the command line only: write include FILE"),
                ("quiet\0\n", "line 1: the line has a NUL character")):
            with self.subTest(text):
                self.refused("-c", 1, "null:", "--options", self.write(text), code=2, pattern=pattern)
        self.refused(1, 10, "null:", "--options", self.folder, code=2, pattern="cannot be read: Is a directory")
        self.refused(1, 10, "null:", "--options", "/dev/zero", code=2, pattern="is larger than 1 MiB")
        self.write("include last.conf\n" * 60, "many.conf"), self.write("", "last.conf")
        self.refused(1, "--options", self.write("include many.conf\n" * 2), code=2,
                     pattern="append reads at most 100 files of options")
        self.refused(1, 10, "null:", "--options", code=2, pattern="--options needs a value")


if __name__ == "__main__":
    harness.main()
