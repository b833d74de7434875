"""A Docker daemon of the test's own, and an image with the PostgreSQL of this machine.

The daemon lives in a mount and a network namespace of its own: its bridge, rules, mounts and files
disappear with them. Commands behind `enter` run there, too. It takes root; where the daemon cannot be
started the test is skipped, and says why. As a program this tries whether a daemon can be started.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import confine
import harness

CGROUPS = pathlib.Path("/sys/fs/cgroup")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
WITH_THIS = ("setpriv", "--pdeathsig", "TERM", "--")  # it ends with this program, however that ends
DATA = "/var/lib/postgresql/data"
ENTRY = f"""#!/bin/sh
# As the image of Docker Hub does it: the first start makes the server's files.
set -e
export PGDATA={DATA}/files
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    initdb --username="$POSTGRES_USER" --auth="$POSTGRES_HOST_AUTH_METHOD" --no-sync --locale=C -E UTF8
    echo "create database $POSTGRES_DB" | postgres --single postgres
    echo "host all all all $POSTGRES_HOST_AUTH_METHOD" >>"$PGDATA/pg_hba.conf"
    printf "listen_addresses = '*'\\nunix_socket_directories = '/tmp'\\n" >>"$PGDATA/postgresql.conf"
fi
exec "$@"
"""
# The daemon writes below /etc, /opt and /run whatever it is told.
PRIVATE = """set -e
for folder in /etc /opt; do
    mkdir -p "$0$folder/upper" "$0$folder/work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$0$folder/upper,workdir=$0$folder/work" "$folder"
done
mount -t tmpfs tmpfs /run
"""


def libraries(*programs):
    """The shared libraries that these programs load, and the loader itself."""
    text = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"(?m)^\s.*?(/\S+) \(0x", text))


def can_start():
    """What starting a daemon takes, but for the privileges; None: it is there."""
    for program in ("dockerd", "docker", "containerd", "runc", "ldd", "tar"):
        if shutil.which(program, path=PATH) is None:
            return f"there is no program {program}"
    return None if os.geteuid() == 0 else "a daemon takes root"


class Daemon:
    """dockerd in namespaces of its own, with all that it made gone at the end of the class."""

    def __init__(self, case):
        """Raises unittest.SkipTest where no daemon can be started."""
        lack = can_start()
        if lack is not None:
            raise unittest.SkipTest(f"no Docker daemon can be started here: {lack}")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="append-docker-"))
        case.addClassCleanup(shutil.rmtree, self.home)
        self.name = f"append-test-{os.getpid()}"
        self.environment = {"DOCKER_HOST": f"unix://{self.home}/socket"}
        holder = subprocess.Popen(
            [*WITH_THIS, "unshare", "--net", "--mount", "--propagation", "private", "sh", "-c",
             PRIVATE + "echo ready; exec sleep 3600", self.home], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        case.addClassCleanup(self.end, holder)
        if holder.stdout.readline() != "ready\n":
            raise unittest.SkipTest("no Docker daemon can be started here: "
                                    + holder.stderr.read().strip())
        self.enter = ("nsenter", f"--net=/proc/{holder.pid}/ns/net",
                      f"--mount=/proc/{holder.pid}/ns/mnt")
        subprocess.run([*self.enter, "python3", "-c", confine.RAISE_LO], check=True)
        log = self.home / "log"
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [*self.enter, "env", f"PATH={PATH}", *WITH_THIS, "dockerd",
                 f"--data-root={self.home}/data", f"--exec-root={self.home}/exec",
                 f"--pidfile={self.home}/pid", f"--host={self.environment['DOCKER_HOST']}",
                 f"--cgroup-parent=/{self.name}"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        case.addClassCleanup(self.stop)

        def is_up():
            if self.process.poll() is not None:
                raise unittest.SkipTest("no Docker daemon can be started here: "
                                        + " ".join(log.read_text().split())[-400:])
            return self.run("version", check=False).returncode == 0

        harness.wait_until(is_up, "the daemon")

    def run(self, *words, check=True, **options):
        result = subprocess.run([*self.enter, "docker", *map(str, words)], capture_output=True,
                                env={**os.environ, **self.environment}, timeout=harness.GUARD_S,
                                **options)
        if check and result.returncode != 0:
            raise AssertionError(f"docker {words}: {result.stderr.decode()}")
        return result

    def ask(self, *words):
        return self.run(*words).stdout.decode().strip()

    def make_image(self, tag):
        """The server's programs with their libraries, a shell, and the script above."""
        binaries = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
                          key=lambda path: float(path.parent.name))[-1]
        version = binaries.parent.name
        folder = self.home / "image"
        for path in ("bin", "etc", "tmp", DATA[1:]):
            (folder / path).mkdir(parents=True, exist_ok=True)
        for name, text in (("etc/passwd", "postgres:x:999:999::/:/bin/sh\n"),
                           ("etc/group", "postgres:x:999:\n"), ("bin/entry", ENTRY)):
            (folder / name).write_text(text)
        (folder / "bin/entry").chmod(0o755)
        (folder / "tmp").chmod(0o1777)
        (folder / DATA[1:]).chmod(0o1777)
        shutil.copy("/bin/sh", folder / "bin/sh")
        programs = [str(binaries / name) for name in ("postgres", "initdb", "psql", "pg_isready")]
        files = [*programs, f"/usr/share/postgresql/{version}", f"/usr/lib/postgresql/{version}/lib",
                 *libraries(*programs, "/bin/sh")]
        archive = subprocess.Popen(
            ["tar", "--create", "--dereference", "--hard-dereference", "--absolute-names",
             "--exclude=*/bitcode", *files, "-C", folder, "."], stdout=subprocess.PIPE)
        self.run("import", "--change", 'ENTRYPOINT ["/bin/entry"]', "--change", "USER postgres",
                 "--change", f"ENV PATH={binaries}:/bin POSTGRES_USER=append POSTGRES_DB=append"
                 " POSTGRES_HOST_AUTH_METHOD=trust", "--change", 'CMD ["postgres"]', "-", tag,
                 stdin=archive.stdout)
        archive.stdout.close()
        if archive.wait() != 0:
            raise AssertionError("tar failed")

    def stop(self):
        """Its containers first: they do not end with it."""
        if self.process.poll() is None:
            for identity in self.ask("ps", "--all", "--quiet").split():
                self.run("rm", "--force", "--volumes", identity)
            self.process.terminate()
        self.process.wait(timeout=harness.GUARD_S)

    def end(self, holder):
        """Nothing may be left, whatever happened: processes, cgroups, and with the namespaces mounts
        and bridges."""
        for path in [*CGROUPS.glob(f"*/{self.name}"), *CGROUPS.glob(self.name)]:
            for procs in path.rglob("cgroup.procs"):
                for pid in procs.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)

            def is_removed(path=path):
                for folder in [*sorted(path.rglob("*/"), reverse=True), path]:
                    try:
                        folder.rmdir()
                    except OSError:
                        pass
                return not path.exists()

            harness.wait_until(is_removed, f"{path} to be empty")
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stderr.close()


class Probe(unittest.TestCase):
    """For scripts/test.sh: can a daemon be started here?"""

    def test_daemon(self):
        Daemon(type(self))


if __name__ == "__main__":
    harness.main()
