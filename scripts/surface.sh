#!/bin/bash
# Prints the interface that users can rely on: commands and their options, targets and methods, exit
# codes, environment variables, the files in the folders of runs, searches and sweeps, the columns of
# their CSV files, the keys of all JSON, the metrics, the elements of the JUnit file. Each line is one
# fact; the lines are sorted. If a fact is true only for some commands or adapters, the line ends with a
# colon and their names.
#
#   scripts/surface.sh [PROGRAM]      default: $APPEND_BINARY, else build/append
#
# All facts come from the program itself: from its help and from the files of short runs on null and
# sqlite. tests/cli/test_surface.py compares them with the expected facts in tests/surface.txt.
# The exit code is 77 if some facts cannot be printed, because the program was built without SQLite or
# gnuplot is not installed.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-${APPEND_BINARY:-$here/build/append}}")
unset APPEND_PASSWORD

lacks() {
    echo "surface: not all facts can be shown: $1" >&2
    exit 77
}
"$program" --version | grep -q '^  sqlite  *SQLite' || lacks "$program is built without sqlite"
command -v gnuplot >/dev/null || lacks 'gnuplot is not installed'

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cd "$temp"

# run NAME EXPECTED_CODES ARGUMENT…: runs append and writes its output to NAME.out. Also accepts exit code
# 6, because append may use more CPU than the server on a busy machine.
run() {
    local name=$1 codes=$2 code=0
    shift 2
    timeout 120 "$program" "$@" >"$name.out" 2>"$name.err" </dev/null || code=$?
    case " $codes 6 " in
        *" $code "*) ;;
        *)
            echo "surface: 'append $*' ended with $code, not $codes:" >&2
            cat "$name.err" >&2
            exit 1
            ;;
    esac
}

cat >unique.sql <<'SQL'
create table t (a integer unique, b integer);
SQL
run plain 0 2 400 null: --read none --out plain
run rate 0 2 400 null: --rate 4000 --report --out rate --mark 0.01=mark --metrics-file rate.prom \
    --junit rate.xml --expect 'throughput>1' --log-transactions --json
run shapes 0 2 null: --duration 900ms --churn 10 --idle 2 --on-drop reconnect --out shapes --json
run rows 0 2 400 --verify rows --on-drop reconnect --out rows --json
run filled 0 1 4 sqlite:rejected.db --table t --schema-file unique.sql --values 'a=1..4' --batch 1 \
    --out filled --json
run rejected 1 1 4 sqlite:rejected.db --table t --values 'a=1..4' --batch 1 --expect 'lost>5' \
    --out rejected --junit rejected.xml --json
run refused 4 1 4 sqlite:/nonexistent/x.db --out refused --json --junit refused.xml
run find-max 0 find-max null: --first 1 --max-sessions 2 --hold 500ms --p99 1 --out find-max \
    --metrics-file find-max.prom --json
run sweep '0 5' sweep --sessions 1,2 --records 200,400 --repeat 2 --rate 4k null: --report --out sweep \
    --json --metrics-file sweep.prom --expect 'throughput>1G'
run check 0 check 2 sqlite:checked.db --json
run certify 0 certify 2 --server sqlite --faults kill:1 --out certify --junit certify.xml
# These runs reach a limit of memory, so that their files contain findings and the causes of a failed
# level.
(
    ulimit -v 600000
    run limit 3 40 4000 null: --no-check --stack-size 64M --out limit --json
    run limit-find-max 0 find-max null: --stack-size 64M --first 4 --hold 500ms --max-sessions 30 \
        --out limit-find-max --json
)
mkdir page
run report 0 report shapes rate sweep --all --png --json --out page/page.html
run compare 0 compare plain rate --json
run compare-sweeps 5 compare sweep sweep --fail-if 'throughput<2' --json
"$program" help >help.run
for command in run check find-max report compare sweep prepare cleanup certify; do
    "$program" help "$command" >"help.$command"
done
"$program" help help >help.help

PROGRAM=$program python3 - <<'PYTHON' | sort -u
import csv, json, pathlib, re, subprocess
import os
import xml.etree.ElementTree as xml

here = pathlib.Path(".")


facts = {}  # text of a fact: the set of what it is true for


def fact(*words, of=None):
    facts.setdefault(" ".join(word for word in words if word), set()).update({of} - {None})


def read_help(command, text):
    for line in text.splitlines():
        if found := re.match(r"(?:Usage: |       )(append .*?)(?:  .*)?$", line):
            fact("usage", command + ":", found.group(1))
        if found := re.match(r"  (--[a-z0-9-]+)(.*)", line):
            rest = re.match(r"(?: (\S+))??(?: \((-\w)\))?(?:  | when )", found.group(2) + "  ")
            if not rest:
                rest = re.match(r"(?: (\S+))?(?: \((-\w)\))?", found.group(2))
            fact("option", found.group(1), rest.group(1) or "", rest.group(2) or "", of=command)
        if found := re.match(r"  ((\w+):\S*(?:=\w+)?.*?)  +(.*)$", line):
            methods = re.search(r": (\w+(?:, \w+)*)$", found.group(3))
            fact("target", found.group(1), of=command)
            if methods and command == "run":
                fact("methods", found.group(2) + ":", methods.group(1))
    if exits := re.search(r"^Exit: (.*?)(?=^Example|\Z)", text, re.S | re.M):
        for code, meaning in re.findall(r"(\d+) (.*?)(?=[,;:] \d+ |$)", " ".join(exits.group(1).split())):
            fact("exit", code, meaning, of=command)
    for name in re.findall(r"\b(?:APPEND|PG|MACHBASE|MYSQL|ODBC)_?[A-Z]{4,}\b", text):
        fact("environment", name)


def keys(value, path):
    """The paths of all keys; an element of an array is []. The machine decides the keys of `conditions`."""
    if isinstance(value, dict) and path != "conditions":
        for key, inner in value.items():
            yield f"{path}.{key}" if path else key
            yield from keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, path + "[]")


def read_metrics(text):
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    for line in text.splitlines():
        if line and not line.startswith("#"):
            metric, labels = re.match(r"(\w+)(?:\{(.*)\})? \S+$", line).groups()
            base = re.sub(r"_(bucket|sum|count)$", "", metric) if metric not in kinds else metric
            shown = re.sub(r'="[^"]*"', "", labels or "") if metric == "append_info" or \
                "le=" in (labels or "") else labels or ""
            fact("metric", metric, kinds[base], shown)


def read_folder(kind, folder):
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if "/" not in name:
            fact("file", re.sub(r"\d+x\d+-\d+", "NxN-N", name) + "/" * path.is_dir(), of=kind)
            if path.suffix == ".csv" and name not in ("elapsed.csv", "max_cpu.csv", "max_memory.csv",
                                                      "throughput.csv"):
                for column in next(csv.reader([path.read_text().splitlines()[0]])):
                    fact("column", name, column, of=kind)
            if path.suffix == ".json":
                for key in keys(json.loads(path.read_text()), ""):
                    fact("json", key, of=name)


def read_junit(element, path):
    path += "/" + element.tag
    for attribute in ("", *("@" + name for name in element.attrib)):
        fact("junit", path + attribute)
    for inner in element:
        read_junit(inner, path)


for path in here.glob("help.*"):
    command = path.suffix[1:]
    read_help(command, path.read_text())
    fact("command", command)
versions = subprocess.run([os.environ["PROGRAM"], "--version"], capture_output=True, text=True).stdout
for name in re.findall(r"^  (\w+)", versions, re.M):
    fact("adapter", name)
for kind, names in (("run", "plain rate shapes rows filled rejected limit"),
                    ("find-max", "find-max limit-find-max"),
                    ("sweep", "sweep"), ("certify", "certify")):
    for name in names.split():
        read_folder(kind, here / name)
for path in (here / "page").iterdir():
    fact("file", re.sub(r"\d+(?=-)", "N", path.name), of="report")
for name, file in ("rate", "run.json"), ("find-max", "find-max.json"), ("sweep", "sweep.json"):
    printed, written = (json.loads(path.read_text()) for path in (here / (name + ".out"), here / name / file))
    fact("json", "stdout", "is" if printed == written else "IS NOT", "that of", file)
for name in "refused check report compare compare-sweeps".split():
    for key in keys(json.loads((here / (name + ".out")).read_text()), ""):
        fact("json", key, of=name)
for name in ("rate", "find-max", "sweep"):
    read_metrics((here / (name + ".prom")).read_text())
for path in here.glob("*.xml"):
    read_junit(xml.parse(path).getroot(), "")
for words, of in facts.items():
    print(words + (": " + " ".join(sorted(of)) if of else ""))
PYTHON
