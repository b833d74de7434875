"""MariaDB aborts transactions of scripts, or ends their connections."""

import threading

import harness
import mariadb_proxy
import workload_faults


class Faults(workload_faults.Faults, harness.Mariadb):
    LIMIT = 'default = "SET innodb_lock_wait_timeout = 1"'
    ENDS = (("CREATE TABLE IF NOT EXISTS other (a int)", "false", 1),
            ("CREATE TABLE IF NOT EXISTS other (a int)", "true", 1))
    AGAIN = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"

    def client_command(self):
        return harness.mariadb_command(self.url)

    def without_answer(self, what, number, arrives):
        """Returns the URL of a proxy that hangs up when it sees `what` for the number-th time; with
        `arrives` after the server has answered."""
        state = {"seen": 0, "due": None}  # the thread of the connection to hang up

        def answer(_, command, body):
            state["seen"] += what in body
            if what in body and state["seen"] == number:
                if not arrives:
                    return b""
                state["due"] = threading.get_ident()
            return None

        def spoil(data):
            if state["due"] == threading.get_ident():
                state["due"] = None
                raise OSError
            return data

        return mariadb_proxy.Proxy(self, self.url, answer=answer, spoil=spoil).url


class Restarts(workload_faults.Restarts):
    SERVER = harness.PrivateMariadb

    @staticmethod
    def ask(url, statement):
        return int(harness.mariadb(url, statement))


class Counted(workload_faults.Case):
    """Compares with the server's count of statements."""

    def test_statements_of_oltp(self):
        server = harness.PrivateMariadb(self)

        def count(word):
            return int(harness.mariadb(server.superuser_url,
                                       f"show global status like 'Com_{word}'").split()[1])

        for settings, expected in workload_faults.OLTP.items():
            with self.subTest(settings):
                words = (server.url, "--workload", "oltp", "--set", "table_size=1000," + settings)
                self.append("prepare", 1, *words)
                runs = {}
                for turns in (10, 60):  # the statements outside of transactions are the same
                    before = {word: count(word) for word in expected}
                    _, run = self.run_script(1, words[0], "oltp", *words[3:], "--transactions",
                                             turns)
                    runs[run.json["transactions"]["tries"]] = {
                        word: count(word) - before[word] for word in expected}
                (few, first), (many, second) = sorted(runs.items())
                for word, number in expected.items():
                    self.assertEqual(second[word] - first[word], number * (many - few), word)


if __name__ == "__main__":
    harness.main()
