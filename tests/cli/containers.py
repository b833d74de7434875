"""Docker and Podman for tests, and an image with this machine's PostgreSQL.

Each engine runs in a new mount and network namespace; bridges, rules, mounts and files disappear with
the namespaces. Commands after `enter` also run there. This needs root. Where a container cannot be
started, the test is skipped with the reason. Run as a program, this file tries to start containers.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

import confine
import harness

CGROUPS = pathlib.Path("/sys/fs/cgroup")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
WITH_THIS = ("setpriv", "--pdeathsig", "TERM", "--")  # ends the command when this program ends
DATA = "/var/lib/postgresql/data"
PORT = 15432  # of the server, as append sees it
URL = f"postgresql://append@127.0.0.1:{PORT}/append"
ENTRY = f"""#!/bin/sh
# Like Docker Hub's image: the first start creates the server's files.
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
# The daemon always writes to /etc, /opt and /run.
PRIVATE = """set -e
for folder in /etc /opt; do
    mkdir -p "$0$folder/upper" "$0$folder/work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$0$folder/upper,workdir=$0$folder/work" "$folder"
done
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
"""


def libraries(*programs):
    """Returns the shared libraries that the programs load, and the loader."""
    text = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"(?m)^\s.*?(/\S+) \(0x", text))


class Engine:
    """A container engine in new namespaces; everything that it created is removed at the end of the
    class."""

    PROGRAM = None
    NEEDS = ()  # other programs
    LACK = None  # first words of the reason to skip the test

    def __init__(self, case):
        """Starts the engine. Raises unittest.SkipTest if it cannot run containers here."""
        for program in (*self.NEEDS, self.PROGRAM, "runc", "ldd", "tar"):
            if shutil.which(program, path=PATH) is None:
                self.skip(f"the program {program} is missing")
        if os.geteuid() != 0:
            self.skip("it needs root")
        self.home = pathlib.Path(tempfile.mkdtemp(prefix=f"append-{self.PROGRAM}-"))
        case.addClassCleanup(shutil.rmtree, self.home)
        self.name = f"append-test-{os.getpid()}"
        self.environment = {}
        holder = subprocess.Popen(
            [*WITH_THIS, "unshare", "--net", "--mount", "--propagation", "slave", "sh", "-c",
             PRIVATE + "echo ready; exec sleep 3600", self.home], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        case.addClassCleanup(self.end, holder)
        if holder.stdout.readline() != "ready\n":
            self.skip(holder.stderr.read().strip())
        self.enter = ("nsenter", f"--net=/proc/{holder.pid}/ns/net",
                      f"--mount=/proc/{holder.pid}/ns/mnt")
        subprocess.run([*self.enter, "python3", "-c", confine.RAISE_LO], check=True)
        self.begin(case)

    def skip(self, why):
        raise unittest.SkipTest(f"{self.LACK}: {' '.join(why.split())[-400:]}")

    def begin(self, case):
        raise NotImplementedError

    def run(self, *words, check=True, **options):
        result = subprocess.run([*self.enter, self.PROGRAM, *map(str, words)], capture_output=True,
                                env={**os.environ, **self.environment}, timeout=harness.GUARD_S,
                                **options)
        if check and result.returncode != 0:
            raise AssertionError(f"{self.PROGRAM} {words}: {result.stderr.decode()}")
        return result

    def ask(self, *words):
        return self.run(*words).stdout.decode().strip()

    def make_image(self, tag):
        """Makes an image of the server's programs, their libraries, a shell, and ENTRY."""
        binaries = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
                          key=lambda path: float(path.parent.name))[-1]
        version = binaries.parent.name
        folder = self.home / "image"
        if folder.exists():
            return  # made before
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
        changes = ['ENTRYPOINT ["/bin/entry"]', "USER postgres", 'CMD ["postgres"]',
                   f"ENV PATH={binaries}:/bin", "ENV POSTGRES_USER=append", "ENV POSTGRES_DB=append",
                   "ENV POSTGRES_HOST_AUTH_METHOD=trust"]
        self.run("import", *(word for change in changes for word in ("--change", change)), "-", tag,
                 stdin=archive.stdout)
        archive.stdout.close()
        if archive.wait() != 0:
            raise AssertionError("tar failed")

    def remove_all(self):
        for identity in self.ask("ps", "--all", "--quiet").split():
            self.run("rm", "--force", "--volumes", identity)

    def end(self, holder):
        """Removes everything, whatever happened: processes, cgroups, and with the namespaces mounts and
        bridges."""
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


class Daemon(Engine):
    """dockerd."""

    PROGRAM = "docker"
    NEEDS = ("dockerd", "containerd")
    LACK = "no Docker daemon can be started here"

    def begin(self, case):
        self.environment = {"DOCKER_HOST": f"unix://{self.home}/socket"}
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
                self.skip(log.read_text())
            return self.run("version", check=False).returncode == 0

        harness.wait_until(is_up, "the daemon")

    def stop(self):
        """Removes the containers, which do not end with the daemon, and then ends the daemon."""
        if self.process.poll() is None:
            self.remove_all()
            self.process.terminate()
        self.process.wait(timeout=harness.GUARD_S)


class Podman(Engine):
    """podman, which has no daemon. Its containers share the network of its namespace, and have the
    process limits that root can get on this machine."""

    PROGRAM = "podman"
    NEEDS = ("conmon",)
    LACK = "podman can start no container here"

    def begin(self, case):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        files = hard if 0 < hard < 65536 else 65536
        for name, text in (
                ("storage.conf", f'[storage]\ndriver = "overlay"\ngraphroot = "{self.home}/data"\n'
                                 f'runroot = "{self.home}/run"\n'),
                ("containers.conf", f'[containers]\ndefault_ulimits = ["nofile={files}:{files}", '
                                    '"nproc=4096:4096"]\nnetns = "host"\n'
                                    '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
                                    f'runtime = "runc"\ntmp_dir = "{self.home}/tmp"\n')):
            (self.home / name).write_text(text)
        self.environment = {"CONTAINERS_STORAGE_CONF": f"{self.home}/storage.conf",
                            "CONTAINERS_CONF": f"{self.home}/containers.conf"}
        try:
            self.ask("info")
            case.addClassCleanup(self.remove_all)
            self.make_image("append-test")
            self.ask("run", "--rm", "--cgroup-parent", f"/{self.name}", "--entrypoint", "/bin/sh",
                     "append-test", "-c", "exit 0")
        except AssertionError as error:
            self.skip(str(error))


class Contained(harness.Case):
    """Tests with a server in a container."""

    ENGINE = None
    INNER_PORT = 5432  # the server's own

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = cls.ENGINE(cls)
        cls.engine.make_image("append-test")
        can_trace = subprocess.run([harness.BINARY, "check", "1", "--io-trace"],
                                   capture_output=True).returncode == 0
        cls.tracing = ["--io-trace"] if can_trace else []

    def start(self, *arguments, program=harness.BINARY, env=None, **options):
        """Runs append in the engine's namespaces, which have the ports; keeps the folder."""
        first, *others = (*self.engine.enter, "env", "-C", self.folder)
        return super().start(*others, program, *arguments, program=first,
                             env={**self.engine.environment, **(env or {})}, **options)

    def server(self, *words, image="append-test", command=("postgres", "-c", "max_connections=300"),
               name="db"):
        """Starts a container, and waits until its server answers; removes it after the test."""
        self.engine.run("run", "--detach", "--name", name, *words, image, *command)
        self.addCleanup(self.engine.run, "rm", "--force", "--volumes", name)
        harness.wait_until(lambda: self.is_up(name), "the server")

    def is_up(self, name):
        state = json.loads(self.engine.ask("inspect", "--format={{json .State}}", name))
        if not state["Running"]:
            raise AssertionError(self.engine.run("logs", name).stderr.decode())
        if state.get("Health", {}).get("Status"):
            return state["Health"]["Status"] == "healthy"
        return self.engine.run("exec", name, "pg_isready", "--quiet", "--host=127.0.0.1",
                               f"--port={self.INNER_PORT}", check=False).returncode == 0

    def first_process(self):
        return int(self.engine.ask("inspect", "--format={{.State.Pid}}", "db"))

    def check_measured(self, run):
        resources = run.json["resources"]
        self.assertEqual(resources["server_name"], "postgres")
        self.assertEqual(resources["server_pid"], self.first_process())
        self.assertEqual(resources["memory_source"], "cgroup")
        self.assertGreater(resources["max_server_memory_bytes"], 0)
        self.assertGreater(resources["max_server_processes"], 4)
        self.assertGreater(resources["max_server_cpu_percent"], 0)


class Probe(unittest.TestCase):
    """For scripts/test.sh: whether a container can be started here."""

    def test_docker(self):
        Daemon(type(self))

    def test_podman(self):
        Podman(type(self))


if __name__ == "__main__":
    harness.main()
