"""The commands of README.md and docs that need no server, and what holds for all pages."""

import json
import re
import shlex

import docs
import harness


COMMAND = r"(?:\./)?append (?:\d|certify|check|cleanup|compare|find-max|help|prepare|report|sweep|--)"


class Pages(docs.Runner):
    def test_commands_run(self):
        for page, wanted in docs.pages_with("", "script"):
            self.begin_page(page)
            for block in wanted:
                with self.subTest(repr(block)):
                    self.run_block(block)

    def test_commands_are_understood(self):
        """append understands the commands for servers that the tests do not have."""
        count = 0
        for page, wanted in docs.pages_with("plan"):
            self.begin_page(page)
            for block in wanted:
                self.assertTrue(docs.commands(block), block)
                for line in docs.commands(block):
                    with self.subTest(line):
                        words = shlex.split(line)[1:]
                        if words[0].isdigit():
                            self.append(*words, "--plan")
                        else:
                            text = self.append("help", words[0]).out
                            for option in (word for word in words if word.startswith("--")):
                                self.assertIn(f"  {option.partition('=')[0]}", text)
                        count += 1
        self.assertGreater(count, 5)

    def test_every_block_is_run_or_has_a_reason(self):
        known = {"", "script", "plan", "outside", "no-test", *docs.PORTS}
        unused = set(docs.NOT_RUN)
        for page in docs.PAGES:
            for block in docs.blocks(page):
                if block.language in docs.RUNS:
                    self.assertIn(block.how, known, block)
                elif block.language == "sql":
                    self.assertIn(block.how, docs.PORTS, block)
                else:
                    self.assertIn(block.language, ("", "lua", "yaml", "mermaid"), block)
                if block.how == "no-test":
                    reasons = {key for key in docs.NOT_RUN
                               if key[0] == docs.name_of(page) and key[1] in block.code}
                    self.assertEqual(len(reasons), 1, block)
                    unused -= reasons
        self.assertEqual(unused, set())

    def test_no_command_is_outside_of_a_block(self):
        """README.md has two exceptions: one installs packages, the other runs this test."""
        for page in docs.PAGES:
            text = page.read_text(encoding="utf-8")
            for block in docs.blocks(page):
                if block.language in ("", "lua", "yaml", "mermaid"):
                    self.assertNotRegex(block.text, rf"(?m)^(\$ )?{COMMAND}", block)
            text = docs.FENCE.sub("", text)
            found = re.findall(rf"(?m)^ {{4,}}(?:\$ )?({COMMAND}|(?:mpirun|srun) |scripts/\S+)", text)
            if page.name == "README.md" and page.parent == harness.ROOT:
                self.assertEqual(found, ["scripts/try.sh", "scripts/test.sh"])
            else:
                self.assertEqual(found, [], page)

    def test_readme_is_short(self):
        lines = (harness.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 150)

    def test_every_page_is_in_the_index(self):
        folder = harness.ROOT / "docs"
        index = (folder / "README.md").read_text(encoding="utf-8")
        databases = (folder / "databases" / "README.md").read_text(encoding="utf-8")
        for page in docs.PAGES:
            if page.parent == folder and page.name != "README.md":
                self.assertIn(f"]({page.name}", index)
            elif page.parent.name == "databases" and page.name != "README.md":
                self.assertIn(f"]({page.name})", databases)

    def test_every_adapter_has_a_target_in_the_table(self):
        text = (harness.ROOT / "docs" / "databases" / "README.md").read_text(encoding="utf-8")
        readme = (harness.ROOT / "README.md").read_text(encoding="utf-8")
        built = re.search(r"append_adapter\((?s:.*)", (harness.ROOT / "CMakeLists.txt").read_text())[0]
        names = set(re.findall(r"^append_adapter\((\w+)", built, re.M))
        self.assertGreater(len(names), 8)
        for name in names:
            self.assertRegex(text, rf"`{name}(\+http)?:", name)
            self.assertRegex(readme, rf"`{name}(\+http)?:", name)

    def test_anchors_exist(self):
        def slug(heading):
            heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"[`*]", "", heading.strip()))
            return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

        def anchors(page):
            found = []
            for heading in re.findall(r"(?m)^#+ (.*)$", docs.FENCE.sub("", page.read_text(encoding="utf-8"))):
                times = sum(re.fullmatch(rf"{re.escape(slug(heading))}(-\d+)?", one) is not None for one in found)
                found.append(slug(heading) + (f"-{times}" if times else ""))
            return found

        for page in docs.PAGES:
            text = docs.FENCE.sub("", page.read_text(encoding="utf-8"))
            for file, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", text):
                self.assertIn(anchor, anchors((page.parent / file) if file else page), f"{page}: {file}#{anchor}")

    def test_the_dashboard_is_one(self):
        board = json.loads((harness.ROOT / "docs" / "grafana.json").read_text(encoding="utf-8"))
        numbers = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertTrue(all(target["expr"] for panel in board["panels"] for target in panel["targets"]))


if __name__ == "__main__":
    harness.main()
