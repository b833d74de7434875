"""append certify with a PostgreSQL server of the user's."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import urllib.parse

import certify
import harness


class TheirServer(certify.Harm, certify.Certifying):
    SERVER = harness.PrivateServer
    client = staticmethod(harness.psql)
    PID_COMMAND = "head -n 1 {home}/data/postmaster.pid"
    UNCHECKED = "bt_index_check of the extension amcheck was not found"

    def tables(self):
        return self.sql("select string_agg(tablename, ' ' order by tablename) from pg_tables"
                        " where tablename like 'append_certify%'")

    @classmethod
    def pid(cls):
        return (cls.server.home / "data/postmaster.pid").read_text().split()[0]

    def single(self, *statements):
        """Returns a command that runs statements on the data of the server, which is down."""
        path = self.folder / f"harm-{time.monotonic_ns()}.sql"
        path.write_text("".join(statement + "\n" for statement in statements))
        user = "setpriv --reuid=postgres --regid=postgres --init-groups " if os.geteuid() == 0 else ""
        return (f"{user}{self.program} --single -D {self.server.home}/data -c exit_on_error=on append"
                f" <{path} >/dev/null")

    def sql_before(self, *statements):
        return [self.single(*statements)]

    def change_page(self, name, number, change):
        """Returns commands that change a page of the table; `change` is Python code that changes `page`."""
        where = self.folder / f"where-{name}"
        script = self.folder / f"change-{name}.py"
        where.write_text("")
        where.chmod(0o666)
        script.write_text(f"path = '{self.server.home}/data/' + open('{where}').read().strip()\n"
                          "with open(path, 'r+b') as file:\n"
                          f"    file.seek(8192 * {number})\n"
                          "    page = bytearray(file.read(8192))\n"
                          f"    {change}\n"
                          f"    file.seek(8192 * {number})\n"
                          "    file.write(page)\n")
        return [self.single(f"copy (select pg_relation_filepath('append_certify')) to '{where}'"),
                f"python3 {script}"]

    def test_pages(self):
        """Pages change on the disk of a server without data checksums. append does not judge a transaction with a
        finding again, so the second harm is done to page 40, which has other transactions than page 0."""
        ended, certificate = self.break_it("--keep-going", code=1, faults="kill:3", harms=[
            self.change_page("text", 0, "page[8192 - 20] ^= 1"),  # in the checksum, the last column of the first row
            self.change_page("zeros", 40, "page[:] = bytes(8192)"),
            self.change_page("rubbish", 0, "page[:] = bytes(range(1, 129)) * 64")])
        text, zeros, rubbish = certificate.series["results"]
        self.assertEqual(text["found"]["torn"], 1)
        self.assertGreater(zeros["found"]["lost"], 1)
        self.assertEqual(zeros["found"]["torn"], 0)
        self.assertRegex(rubbish["failure"], "append_certify cannot be read: .*invalid page in block 0")
        self.assertFalse(rubbish["is_read"])
        self.check_kept(ended)

    def refuse(self, command, text=""):
        """Makes the server refuse a command that has a text."""
        self.sql("create function refuse() returns event_trigger language plpgsql as $$ begin"
                 f" if current_query() like '%{text}%' then raise 'no {command} here'; end if; end $$")
        self.addCleanup(self.sql, "drop function refuse cascade")
        self.sql(f"create event trigger refuse on ddl_command_start when tag in ('{command}') execute function refuse()")

    def test_tables_that_cannot_be_marked(self):
        """append drops no table without its mark, not even its own, and says so."""
        self.refuse("COMMENT")
        ended, _ = self.break_it(code=0)
        self.assertIn("the tables could not be dropped: table append_certify lacks the mark of append certify; append certify"
                      " --recreate=append_certify,append_certify_2 drops them", ended.err)
        self.assertEqual(self.tables(), "append_certify append_certify_2")
        ended, _ = self.break_it("--recreate=append_certify,append_certify_2", code=0)
        self.sql("drop table append_certify, append_certify_2")

    def test_a_second_table_that_cannot_be_made(self):
        """The first table was made, and is dropped."""
        self.refuse("CREATE TABLE", "append_certify_2")
        ended, _ = self.break_it(code=4)
        self.assertIn("no CREATE TABLE here", ended.reason)
        self.assertEqual(self.tables(), "")

    def test_interrupted_while_rows_are_read_back(self):
        """What was found until then is reported. Reading the second table takes for ever."""
        number, rows = next(self.batches(0))
        harm = self.single("insert into append_certify select * from append_certify where session_number = 0"
                           f" and transaction_number = {number}", "alter table append_certify_2 rename to second",
                           "create view append_certify_2 as select * from second where pg_sleep(600) is null",
                           "grant select on append_certify_2 to public")
        process, out = self.begin(self.server.url, "--faults", "kill:2", "--yes", "--recreate", "--server-start",
                                  self.start_command([harm]))
        asleep = "select pid from pg_stat_activity where wait_event = 'PgSleep'"

        def is_read():
            self.assertIsNone(process.poll(), "it ended too early")
            with contextlib.suppress(AssertionError):  # the server is down
                return self.sql(asleep)

        harness.wait_until(is_read, "the second table to be read")
        process.send_signal(signal.SIGINT)
        ended, certificate = self.finish(process, out, 1)
        self.sql(f"select pg_terminate_backend(pid) from ({asleep}) as asleep", "drop view append_certify_2",
                 "drop table second, append_certify")
        self.assertEqual(certificate.found, {"duplicate": rows})
        result, = certificate.series["results"]
        self.assertEqual((result["is_read"], result["unchecked"]),
                         (False, "reading back was not finished: interrupted"))
        self.assertIn("reading back was not finished: interrupted", ended.reason)

    def test_a_check_that_needs_a_privilege(self):
        self.sql("create extension amcheck")
        self.addCleanup(self.sql, "drop extension amcheck")
        for statement, unchecked in (("select", "this user has no EXECUTE privilege on bt_index_check"),
                                     ("grant execute on function bt_index_check(regclass, boolean) to public", "")):
            with self.subTest(statement=statement):
                self.sql(statement)
                ended, certificate = self.certify(self.server.url, "--faults", "network:1", "--yes", "--recreate", code=0)
                self.check_clean(ended, certificate, {"network": 1}, unchecked)

    def test_a_given_process(self):
        """--server-pid names the server until append has started it again."""
        ended, certificate = self.break_it("--server-pid", self.pid(), code=0, faults="kill:2")
        self.check_clean(ended, certificate, {"kill": 2})

    def port(self):
        return urllib.parse.urlsplit(self.server.url).port

    def other_process(self, *words):
        process = subprocess.Popen(words)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_a_given_process_that_is_not_the_server(self):
        other = self.other_process("sleep", "600")
        ended = self.append("certify", 2, self.server.url, "--faults", "kill:1", "--yes", "--server-start", "false",
                            "--server-pid", other.pid, "--out", self.out(), code=2)
        self.assertRegex(ended.reason, rf"--server-pid {other.pid} is not the server: port "
                         rf"{self.port()} is held by postgres \(pid {self.pid()}\)")
        self.assertIsNone(other.poll())

    def test_another_server_on_the_same_port(self):
        """append breaks neither of two servers if it does not know which one is meant, and never the older one."""
        port = self.port()
        other = self.other_process("python3", "-c", "import socket, time; "
                                   f"s = socket.create_server(('127.0.0.2', {port})); time.sleep(600)")
        harness.wait_until(lambda: f"127.0.0.2:{port}" in subprocess.run(
            ["ss", "-ltnH"], stdout=subprocess.PIPE, text=True, check=True).stdout, "the other server to listen")
        ended = self.append("certify", 2, self.server.url, "--faults", "kill:1", "--yes", "--server-start", "false",
                            "--out", self.out(), code=2)
        self.assertIn(f"several servers listen on port {port}: name your server's process with --server-pid",
                      ended.reason)
        ended, _ = self.break_it("--server-pid", f"{self.pid()}!", code=4, faults="kill:2")
        self.assertIn("the process of the restarted server was not found", ended.reason)
        self.assertIsNone(other.poll())
        self.sql("select 1")

    def test_another_host(self):
        self.refused("certify", 2, "postgresql://append@192.0.2.1/append", "--faults", "stop:1", "--yes", code=2,
                     pattern=r"on this machine, not on 192\.0\.2\.1")


class Alone(certify.Harm, certify.Power):
    """The data directory of the user's server has a file system of its own, whose power may be cut."""
    SERVER = harness.PrivateServer
    client = staticmethod(harness.psql)
    PID_COMMAND = TheirServer.PID_COMMAND
    pid = classmethod(TheirServer.pid.__func__)
    UNCHECKED = TheirServer.UNCHECKED
    test_each_harm = test_clean = test_a_server_that_does_not_start = test_a_table_of_the_user = test_a_proxy = test_without_yes = test_interrupted_while_the_server_is_stopped = None  # need no file system of their own

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop("fast")
        cls.data = cls.server.home / "data"
        # the data directory is below a shared mount, as on all systems with systemd
        subprocess.run(["sh", "-ec", """mount --bind "$0" "$0"; mount --make-shared "$0"; cd "$0"
                        mv data aside; mkdir data; truncate -s 1G image; mkfs.ext4 -q -F image
                        mount -o loop image data; rmdir data/lost+found; cp -a aside/. data
                        sync --file-system data""", cls.server.home], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", cls.data, cls.server.home], check=True)
        cls.addClassCleanup(cls.server.stop)
        cls.server.restart()

    def refuse(self, advice, pattern):
        ended, _ = self.break_it("--data-directory", self.data, code=2, faults="power:1")
        self.assertRegex(ended.reason, f"--faults power: {pattern}: {advice}, or leave power out")
        self.assertEqual(self.sql("select 1 from pg_tables where tablename like 'append_certify%'"), "")

    def mount_namespace(self, propagation):
        """Starts a process with copies of all mounts."""
        process = subprocess.Popen(["unshare", "--mount", "--propagation", propagation, "sh", "-c", "echo; exec sleep 600"],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process

    def test_power(self):
        """A mount namespace whose copy of the mount follows the original does no harm."""
        self.mount_namespace("slave")
        ended, certificate = self.break_it("--data-directory", self.data, code=0, faults="power:2")
        self.check_clean(ended, certificate, {"power": 2})

    def break_with_mount(self, script, code):
        """Cuts the power with another program `mount`."""
        mount = self.folder / "mount"
        mount.write_text(f"#!/bin/sh\n{script}\n")
        mount.chmod(0o755)
        return self.break_it("--data-directory", self.data, code=code, faults="power:1",
                             env={"PATH": f"{self.folder}:{os.environ['PATH']}"})[0]

    def test_a_file_system_that_cannot_be_mounted(self):
        """No file can be made below it until the user mounts it, with the command of the message."""
        source = subprocess.run(["findmnt", "-no", "SOURCE", self.data], check=True, capture_output=True, text=True).stdout
        self.addCleanup(os.close, os.open(source.strip(), os.O_RDONLY))  # a loop device disappears with its last user
        ended = self.break_with_mount("exit 1", 3)
        self.assertRegex(ended.reason, f"the file system of the server, {self.data}, could not be mounted again")
        self.assertRaises(PermissionError, (self.data / "new").mkdir)
        command = re.findall(f"again: (chattr -i {self.data} && mount -t ext4 .*)", ended.err)
        subprocess.run(["sh", "-ec", command[-1]], check=True)
        self.server.restart()
        self.sql("drop table append_certify, append_certify_2")

    def test_the_folder_below_the_file_system(self):
        """A service manager may start the server while its file system is not mounted. No file can be made then."""
        attempt = self.folder / "attempt"
        self.break_with_mount(f"mkdir {self.data}/new 2>{attempt}\nexec {shutil.which('mount')} \"$@\"", 0)
        self.assertIn("Operation not permitted", attempt.read_text())
        bind = 'mount --bind "$0" "$1"; mkdir "$1/data/new"; rmdir "$1/data/new"'
        subprocess.run(["unshare", "--mount", "sh", "-ec", bind, self.server.home, self.temp], check=True)

    def test_a_cut_that_is_not_permitted(self):
        """The server and its file system go on: append neither unmounts the file system nor runs --server-start."""
        before, started = self.pid(), self.folder / "started"
        self.addCleanup(self.sql, "drop table append_certify, append_certify_2")  # append keeps them
        process = self.start("--bounding-set=-sys_admin", harness.BINARY, "certify", 2, self.server.url, "--faults",
                             "power:1", "--yes", "--recreate", "--server-start", f"touch {started}", "--data-directory",
                             self.data, "--out", self.out(), program="setpriv")
        ended = self.end(process, 3)
        self.assertRegex(ended.reason, f"cannot shut the file system down: {self.data}: Operation not permitted")
        self.assertNotIn("cannot unmount", ended.err)
        self.assertFalse(started.exists())
        self.assertEqual((self.pid(), self.sql("select 1")), (before, "1"))

    def test_another_mount_namespace(self):
        """A copy of the mount would keep the file system without power after the fault."""
        process = self.mount_namespace("private")
        self.refuse("unmount it there or end that process",
                    f"{self.data} is also mounted in the mount namespace of process {process.pid}")

    def test_a_folder_that_the_server_does_not_say(self):
        ended, _ = self.break_it(code=2, faults="power:1")
        self.assertRegex(ended.reason, "the server does not say where its data is: name the folder with --data-directory")

    def test_a_file_that_another_process_has_open(self):
        with open(self.data / "PG_VERSION", encoding="ascii"):
            self.refuse("end that process", f"{self.data} is on a file system that process {os.getpid()} uses")

    def block_device(self, path):
        """Makes a block device that every user may write."""
        with tempfile.NamedTemporaryFile() as image:
            image.truncate(1 << 20)
            loop = subprocess.run(["losetup", "--find", "--show", image.name], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout.strip()
        self.addCleanup(subprocess.run, ["losetup", "--detach", loop], check=True)
        os.mknod(path, 0o600 | stat.S_IFBLK, os.stat(loop).st_rdev)

    def test_a_file_elsewhere(self):
        """A file of another file system, or a block device, that a process of the server writes would keep its
        power. Messages may be anywhere."""
        for make in pathlib.Path.touch, self.block_device:
            with self.subTest(make=make):
                messages, log, lasts = (self.folder / f"{name}-{make.__name__}" for name in ("messages", "log", "lasts"))
                make(log)
                for file in messages, lasts:
                    file.touch()
                for file in messages, log, lasts:
                    file.chmod(0o666)
                program = (f"exec 5>>{messages} 6>{log}; echo open >&5;"
                           f" while [ -e {lasts} ]; do sleep 0.1; done")
                client = threading.Thread(target=self.sql, args=[f"copy (select 1) to program '{program}'"])
                client.start()
                harness.wait_until(messages.read_text, "the file to be open")
                try:
                    self.refuse("move the file there",
                                f"the server writes {log}, which is outside the file system of its data")
                finally:
                    lasts.unlink()
                    client.join()

    def test_a_link_to_another_file_system(self):
        for link in self.data / "elsewhere", self.data / "base" / "elsewhere":
            link.symlink_to("/proc")
            try:
                self.refuse("give the data directory a file system of its own",
                            rf"{self.data} has a part that is on another file system or cannot be read "
                            rf"\({link.relative_to(self.data)}\)")
            finally:
                link.unlink()


class PartOfAFileSystem(harness.Case):
    def test_it_is_refused(self):
        """The rest of the file system may have files of others that append cannot see, as with
        `docker run --volume FOLDER:/var/lib/postgresql/data`."""
        reason = certify.power_is_impossible()
        if reason:
            self.skipTest(reason)
        server = harness.PrivateServer(self)
        server.stop("fast")
        data = server.home / "data"
        subprocess.run(["sh", "-ec", """cd "$0"; mkdir whole; truncate -s 1G image; mkfs.ext4 -q -F image
                        mount -o loop image whole; mv data whole/data; touch whole/of-others; mkdir data
                        mount --bind whole/data data; umount whole""", server.home], check=True)
        # a defect of append could have mounted the data directory twice
        self.addCleanup(subprocess.run, ["sh", "-c", "while mountpoint -q \"$0\"; do umount \"$0\" || exit; done", data],
                        check=True)
        self.addCleanup(server.stop)
        server.restart()
        ended = self.append("certify", 2, server.url, "--faults", "power:1", "--yes", "--server-start", "false",
                            "--data-directory", data, "--out", self.out(), code=2)
        self.assertRegex(ended.reason, f"--faults power: {data} is on a mount of a folder, which hides the rest of "
                         "the file system: mount the whole file system, or leave power out")


if __name__ == "__main__":
    harness.main()
