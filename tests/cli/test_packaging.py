"""The manual page, the shell completions and the packages of a build."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import harness

BUILD = pathlib.Path(os.environ["APPEND_BUILD"])
DOCS = BUILD / "docs"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=harness.GUARD_S, stdin=subprocess.DEVNULL, **options)


class Generated(harness.Case):
    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"no {program} here")

    def options_of(self, command):
        """Returns the options of a command from its --help."""
        words = [command, "--help"] if command else ["--help"]
        return set(re.findall(r"(?m)^  (--[\w-]+)", self.append(*words).out))

    def commands(self):
        names = re.findall(r"(?m)^ +append ([a-z][\w-]*)", self.append("--help").out)
        self.assertIn("check", names)
        return names

    def test_the_page_is_clean(self):
        self.need("mandoc")
        ended = run("mandoc", "-T", "lint", DOCS / "append.1")
        self.assertEqual((ended.returncode, ended.stdout + ended.stderr), (0, ""))

    def test_man_shows_everything(self):
        self.need("man")
        ended = run("man", "--warnings", "-l", DOCS / "append.1",
                    env=dict(os.environ, MANWIDTH="120", LC_ALL="C.UTF-8"))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for option in self.options_of(""):
            self.assertRegex(ended.stdout, rf"(?m)^ +{option}\b")
        for name in self.commands():
            self.assertIn(f"append {name} ", ended.stdout)
            for option in self.options_of(name):
                self.assertRegex(ended.stdout, rf"(?m)^ +{option}\b")
        self.assertRegex(ended.stdout, r"(?m)^ +--user NAME, -U$")
        for word in ("SYNOPSIS", "append SESSIONS RECORDS [TARGET]", "EXIT STATUS", "FILES"):
            self.assertIn(word, ended.stdout)
        self.assertNotIn("@", ended.stdout)

    def test_the_page_of_options_is_as_the_table_says(self):
        written = (harness.ROOT / "docs" / "options.md").read_text(encoding="utf-8")
        made = (DOCS / "options.md").read_text(encoding="utf-8")
        self.assertEqual(written, made, f"write it again with: ninja -C {BUILD} options_page")
        for command in ("", *self.commands()):
            for option in self.options_of(command):
                self.assertIn(f"| `{option}", made)

    def complete(self, *words):
        """Returns bash's completions of the last word."""
        script = ('. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; };'
                  '_append; printf "%s\\n" "${COMPREPLY[@]}"')
        ended = run("bash", "--norc", "-c", script, DOCS / "append.bash", "append", *words,
                    cwd=self.folder)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.split()

    def test_bash(self):
        self.assertEqual(set(self.complete("")), set(self.commands()))
        self.assertEqual(self.complete("find-m"), ["find-max"])
        for name in self.commands():
            self.assertEqual(set(self.complete(name, "--")), self.options_of(name), name)
        self.assertEqual(set(self.complete("5", "100", "--")), self.options_of(""))
        self.assertEqual(self.complete("5", "100", "--on-d"), ["--on-drop"])
        self.assertEqual(self.complete("5", "100", "--on-drop", "r"), ["reconnect"])
        self.assertEqual(self.complete("5", "100", "--verify", ""), ["count", "rows"])
        self.assertEqual(self.complete("5", "100", "--batch", ""), [])
        self.assertIn("null", self.complete("5", "100", "--adapter", ""))
        self.assertIn("-U", self.complete("5", "100", "-"))
        self.assertNotIn("-T", self.complete("check", "100", "-"))
        self.assertEqual(self.complete("5", "100", "-U", ""), [])
        self.assertEqual(self.complete("help", "swe"), ["sweep"])
        (self.folder / "pass word").touch()
        (self.folder / "folder").mkdir()
        self.assertIn("folder", self.complete("5", "100", "--password-file", "f"))
        self.assertEqual(self.complete("5", "100", "--out", ""), ["folder"])

    def test_zsh(self):
        self.need("zsh")
        ended = run("zsh", "-n", DOCS / "_append")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        # Prints everything that the completion offers to zsh after the given words.
        script = ("_arguments() { print -l -- $options }; _files() { };"
                  "_describe() { print -l -- $commands }; CURRENT=$#; words=(\"$@\"); . \"$0\"")
        offered = run("zsh", "-f", "-c", script, DOCS / "_append", "append", "check", "--").stdout
        self.assertEqual(set(re.findall(r"(?m)^\*(--[\w-]+)\[", offered)), self.options_of("check"))
        self.assertRegex(offered, r"(?m)^\*-U\[")
        offered = run("zsh", "-f", "-c", script, DOCS / "_append", "append", "").stdout
        self.assertEqual(set(re.findall(r"(?m)^([\w-]+):", offered)), set(self.commands()))


class Configured(harness.Case):
    """Without cmocka the program is built without tests, unless they are requested."""

    def test_without_cmocka(self):
        folders = run("pkg-config", "--variable=pc_path", "pkg-config").stdout.strip().split(":")
        for path in (path for folder in folders for path in pathlib.Path(folder).glob("*.pc")):
            if path.name != "cmocka.pc" and not (self.folder / path.name).exists():
                (self.folder / path.name).symlink_to(path)
        configure = ("cmake", "-S", harness.ROOT, "-B", self.folder / "build", "-G", "Ninja")
        env = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.folder))
        ended = run(*configure, env=env)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("tests: not built (pkg-config finds no cmocka", ended.stdout)
        ended = run(*configure, "-D", "APPEND_TESTS=ON", env=env)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("finds no cmocka", ended.stderr)


class Packages(harness.Case):
    FILES = {"usr/bin/append", "usr/share/man/man1/append.1.gz",
             "usr/share/bash-completion/completions/append",
             "usr/share/zsh/vendor-completions/_append", "usr/share/doc/append/copyright",
             "usr/share/doc/append/changelog.gz", "usr/share/doc/append/NEWS.md.gz",
             "usr/share/append/ci-smoke.sh",
             *(f"usr/share/doc/append/{path.relative_to(harness.ROOT)}" for path in
               (harness.ROOT / "README.md", harness.ROOT / "compose.yaml",
                harness.ROOT / "docs" / "grafana.json",
                *harness.ROOT.glob("docs/**/*.md")))}

    def pack(self, generator, pattern):
        ended = run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", generator, "-B",
                    self.folder / "packages", cwd=self.folder)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return next((self.folder / "packages").glob(pattern))

    def runs(self, program):
        """Checks that the program appends 100,000 rows with 50 sessions."""
        process = self.start("50", 100_000 // harness.SLOW, program=str(program))
        ended = self.end(process, 0)
        self.assertRegex(ended.out, r"(?m)^(VALID|DEGRADED)")

    def test_tarball(self):
        path = self.pack("TGZ", "append-*.tar.gz")
        with tarfile.open(path) as archive:
            top = path.name.removesuffix(".tar.gz")
            names = {member.name for member in archive if member.isfile()}
            files = {"usr/lib/append/append", *self.FILES}
            self.assertEqual(names, {f"{top}/{name.removeprefix('usr/')}" for name in files})
            archive.extractall(self.folder / "unpacked")
        top = self.folder / "unpacked" / top
        self.runs(top / "bin/append")
        self.names_libraries(top)
        self.smokes(top / "share/append/ci-smoke.sh")

    def names_libraries(self, top):
        """Checks that a package without its libraries, started through a link, names all missing libraries."""
        program = top / "lib/append/append"
        there = program.read_bytes()
        program.write_bytes(there.replace(b"libjansson.so.4\0", b"libjanssox.so.4\0")
                                 .replace(b"libsqlite3.so.0\0", b"libsqlitx3.so.0\0"))
        (self.folder / "append").symlink_to(top / "bin/append")
        ended = self.append("--version", program=str(self.folder / "append"), code=3)
        self.assertEqual(sorted(re.findall(r"lib\S+\.so\.\d", ended.reason)),
                         ["libjanssox.so.4", "libsqlitx3.so.0"])
        self.assertRegex(ended.reason, r"apt-get install( libjanssox4| libsqlitx3-0){2}\)$")
        program.write_bytes(there)

    def smokes(self, script):
        """Checks that the script of the package finds the package's program from any folder."""
        ended = run(script, "sqlite:", "--quiet", cwd=self.folder,
                    env={"PATH": os.environ["PATH"], "RECORDS": "1000", "SESSIONS": "2"})
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("(SQLite", ended.stdout)
        self.assertTrue((self.folder / "append-smoke/junit.xml").is_file())
        shutil.rmtree(self.folder / "append-smoke")

    def test_deb(self):
        if shutil.which("dpkg-shlibdeps") is None:
            self.skipTest("no dpkg-shlibdeps here")
        path = self.pack("DEB", "append_*.deb")
        root = self.folder / "root"
        (root / "var/lib/dpkg/updates").mkdir(parents=True)
        (root / "var/lib/dpkg/info").mkdir()
        (root / "var/lib/dpkg/status").touch()
        # A separate system without the libraries that the package requires.
        dpkg = ("dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless",
                "--log=/dev/null")
        refused = run(*dpkg, "--install", path)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("depends on libc6", refused.stderr)
        ended = run(*dpkg, "--force-depends", "--install", path)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        listed = {name.lstrip("/") for name in run(*dpkg, "--listfiles", "append").stdout.split()}
        self.assertEqual({name for name in listed if (root / name).is_file()}, self.FILES)
        depends = run("dpkg-deb", "--field", path, "Depends").stdout
        for library in ("libc6", "libjansson4"):
            self.assertIn(library, depends)
        self.assertEqual(run("dpkg-deb", "--field", path, "Recommends").stdout, "gnuplot-nox\n")
        version = self.append("--version").out.split()[1]
        self.assertEqual(run("dpkg-deb", "--field", path, "Version").stdout.strip(), version)
        self.runs(root / "usr/bin/append")
        self.smokes(root / "usr/share/append/ci-smoke.sh")
        ended = run(*dpkg, "--purge", "append")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertFalse((root / "usr/bin/append").exists())


class Install(harness.Case):
    def test_headers_are_installed_too(self):
        ended = run("cmake", "--install", BUILD, "--prefix", self.folder / "prefix")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for name in ("bin/append", "include/append/adapter.h"):
            self.assertTrue((self.folder / "prefix" / name).is_file(), name)


class Version(harness.Case):
    def test_libraries(self):
        """--version shows the version of every adapter's client library, or that it is missing."""
        lines = self.append("--version").out.splitlines()
        self.assertGreater(len(lines), 1)
        for line in lines[1:]:
            name = line.split()[0]
            if name != "null":
                self.assertRegex(line, r"\d+\.\d+|none found", line)


if __name__ == "__main__":
    harness.main()
