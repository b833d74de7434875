"""--waits=kernel on any server of this machine: a mixin for test_NAME_waits.py."""

import io_trace


class KernelWaits(io_trace.Traced):
    """Subclasses have self.url."""

    def classes(self, run):
        return {row["class"]: row for row in run.json["waits"]["kernel"]}

    def check_kernel(self, run):
        """Checks what must hold in every run: the shares of the busy time add up, and the CPU time is that of
        /proc."""
        waits, classes = run.json["waits"], self.classes(run)
        self.assertAlmostEqual(sum(row["busy_percent"] or 0 for row in classes.values()), 100, delta=0.001)
        self.assertAlmostEqual(sum(row["threads"] for row in classes.values()), waits["kernel_threads"],
                               delta=0.001)
        for row in classes.values():
            self.assertAlmostEqual(row["threads"], row["seconds"] / waits["kernel_watched_s"], delta=0.001)
        self.assertAlmostEqual(waits["kernel_watched_s"], run.json["times"]["append_s"], delta=0.05)
        # /proc counts in ticks of 10 ms for each thread
        cpu_s = run.json["resources"]["server_cpu_s"]
        self.assertAlmostEqual(classes["cpu"]["seconds"], cpu_s, delta=0.5 + 0.3 * cpu_s,
                               msg="append reads the CPU time of /proc later than planned on a busy machine")
        return classes

    def test_kernel(self):
        ended, run = self.run_append("4", self.url, "--duration", "3s", "--batch", "1", "--waits=kernel")
        classes = self.check_kernel(run)
        self.assertGreater(classes["cpu"]["seconds"], 0)
        self.assertIn("Server's threads", ended.out)
        self.assertIn("these numbers describe threads, not single calls", " ".join(ended.out.split()))
        self.assertNotIn("Polls", ended.out)
        self.append("report", run.folder, "--out", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertRegex(page, "The server(&#39;|')s threads, as the kernel saw them")
        return classes
