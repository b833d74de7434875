"""Style rules for the C sources; each rule is a function that yields its findings as text.

A source is a pair (path relative to the root, text). The rules strip comments, strings and
preprocessor lines, and match brackets; clang-format's layout makes this sufficient.
"""

import re

PARAMETERS_MAX = 6
CALLBACKS = {"answer_request"}  # a library defines their parameters

# The rooms of src/, lowest first: each room may include itself and lower rooms. Adapters are separate.
ROOMS = ("base", "figures", "script", "plan", "measure", "trace", "limits", "ranks", "load", "report", "certify", "commands")
MAY_INCLUDE = {room: {"append", *ROOMS[:i]} for i, room in enumerate(ROOMS)}
MAY_INCLUDE["adapters"] = {"append", "base"}
MAY_INCLUDE["append"] = set()
MAY_INCLUDE["plan"].add("adapters/registry.h")
MAY_INCLUDE["commands"].add("adapters/registry.h")
SHARED_BY_ADAPTERS = {"dialect", "http"}
CLIENT_LIBRARIES = re.compile(r"^(libpq|libpq-fe|sqlite3|mysql|mariadb|sql|sqlext|pg_config)\b")
BANNED_CALLS = re.compile(
    r"(?<![\w.>])(sprintf|vsprintf|strcpy|stpcpy|strcat|atoi|atol|atoll|atof|gets|localtime|gmtime"
    r"|ctime|asctime|strtok|rand|srand|alloca)\s*\("
)
# Structs of a room whose function pointers a higher room may fill: the arguments of fleet_run and
# search_run, which call these functions until they return. Do not add members to these structs.
KEPT_HOOKS = {("load", "load"), ("load", "search_task")}
CONTROL_WORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else"}


def strip(text, keep_strings=False):
    """Blanks comments, and, unless keep_strings, strings and characters; keeps line numbers."""

    def blank(match):
        token = match.group(0)
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token if keep_strings else token[0] + " " * (len(token) - 2) + token[-1]

    return re.sub(
        r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S
    )


def strip_directives(code):
    """Blanks preprocessor lines and their continuation lines."""
    return re.sub(
        r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
        lambda match: re.sub(r"[^\n]", " ", match.group(0)),
        code,
        flags=re.M,
    )


def includes(text):
    """(line number, '"' or '<', name) of each include."""
    for number, line in enumerate(strip(text, keep_strings=True).splitlines(), 1):
        match = re.match(r"\s*#\s*include\s*([\"<])([^\">]+)[\">]", line)
        if match:
            yield number, match.group(1), match.group(2)


def folder_of(path):
    """src/load/gate.c -> load, include/append/row.h -> append."""
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "include") and len(parts) > 1 else None


def check_includes(path, text):
    folder = folder_of(path)
    if folder is None:
        return
    if folder not in MAY_INCLUDE:
        yield f"{path}: folder {folder} has no include rule in tests/style/rules.py"
        return
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    for number, quote, name in includes(text):
        if quote == "<":
            if CLIENT_LIBRARIES.match(name) and folder != "adapters":
                yield f"{path}:{number}: only adapters may include <{name}>"
            continue
        name = name if "/" in name else f"{folder}/{name}"  # in the file's own folder
        target = name.split("/")[0]
        if folder == "adapters" and target == "adapters":
            header = name.split("/")[1].rsplit(".", 1)[0]
            is_own = stem == header or stem.startswith(header + "_") or (
                header.split("_")[0] == stem.split("_")[0]
            ) or header.split("_")[0] in SHARED_BY_ADAPTERS
            if stem != "registry" and not is_own:
                yield f'{path}:{number}: an adapter may not include "{name}"'
        elif target != folder and not {target, name} & MAY_INCLUDE[folder]:
            yield f'{path}:{number}: {folder} may not include "{name}"'


def check_cycles(sources):
    """Finds cycles of includes between files and between folders, and of calls between a room's files."""
    known = {re.sub(r"^(src|include)/", "", path): path for path, _ in sources}
    files, folders = {}, {}
    for path, text in sources:
        folder = folder_of(path)
        if folder is None:
            continue
        short = re.sub(r"^(src|include)/", "", path)
        names = [name if "/" in name else f"{folder}/{name}"
                 for _, quote, name in includes(text) if quote == '"']
        names = [name for name in names if name in known]
        files[short] = [name for name in names if name != short]
        targets = {name.split("/")[0] for name in names} - {folder}
        folders.setdefault(folder, set()).update(targets)
    for kind, graph in (("files", files), ("folders", folders), ("calls", calls(sources))):
        cycle = find_cycle(graph)
        if cycle:
            yield f"cycle of {kind}: " + " -> ".join(cycle)


def calls(sources):
    """Returns {.c file: the .c files of its room that define functions which it calls}."""
    bodies = {path: strip_directives(strip(text)) for path, text in sources
              if path.startswith("src/") and path.endswith(".c")}
    defined, own = {}, {}
    for path, code in bodies.items():
        for name, first, _ in functions(code):
            own.setdefault(path, set()).add(name)
            if not code.splitlines()[first - 1].startswith("static "):
                defined.setdefault((folder_of(path), name), path)
    graph = {}
    for path, code in bodies.items():
        for name in set(re.findall(r"\b(\w+)\s*\(", code)) - own.get(path, set()):
            owner = defined.get((folder_of(path), name), path)
            if owner != path:
                graph.setdefault(path, set()).add(owner)
    return graph


def rooms(sources):
    """Returns {room: (lines, files, headers, [headers with one user])}; a header's own .c does not count."""
    users = {}
    for path, text in sources:
        for _, quote, name in includes(text):
            if quote == '"' and path.startswith("src/"):
                users.setdefault(name, set()).add(path)
    table = {}
    for path, text in sources:
        if not path.startswith(("src/", "include/")):
            continue
        room = table.setdefault(folder_of(path), [0, 0, 0, []])
        room[0] += text.count("\n")
        room[1] += 1
        if path.endswith(".h"):
            room[2] += 1
            others = users.get(path.split("/", 1)[1], set()) - {path[:-2] + ".c"}
            if path.startswith("src/") and len(others) <= 1:
                room[3].append(path)
    return table


def find_cycle(graph):
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for target in sorted(graph.get(node, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def structs(text):
    """Returns {name: body} of the structs defined in the text, without comments."""
    code = strip_directives(strip(text))
    found = {}
    for match in re.finditer(r"\bstruct (\w+) \{", code):
        found[match.group(1)] = code[match.end():closing(code, match.end())]
    return found


def closing(code, index):
    """Returns the index of the bracket that closes the one just before `index`."""
    level = 1
    while index < len(code) and level:
        level += {"{": 1, "}": -1}.get(code[index], 0)
        index += 1
    return index - 1


def check_calls_upward(sources):
    """Finds function pointers that a room keeps and a higher room fills: the room would call upward.

    A function may be passed a pointer for the duration of its call, such as a visitor of rows or a
    comparator. But a room may not keep a struct whose pointers a higher room fills as a member of its
    own structs, and no room may write a pointer into an object of a lower room. Interfaces of
    plug-ins are exempt: include/append, and structs called NAME_host. Adapters are separate.
    """
    bodies = {path: strip_directives(strip(text)) for path, text in sources}
    defined = {path: structs(text) for path, text in sources if folder_of(path) in ROOMS}
    pointers = {}  # {(room, struct): members}
    for path, found in defined.items():
        for name, body in found.items():
            members = set(re.findall(r"\(\*(\w+)\)\(", body))
            if path.endswith(".h") and members and not name.endswith("_host"):
                pointers[folder_of(path), name] = members
    holders = dict(pointers)  # also structs that have such a struct as a member
    for path, found in defined.items():
        for name, body in found.items():
            for (room, inner), members in pointers.items():
                if path.endswith(".h") and re.search(rf"\bstruct {inner} \w+;", body):
                    key = folder_of(path), name
                    holders[key] = holders.get(key, set()) | members
    kept = {
        (room, name) for room, name in holders for path, found in defined.items()
        if folder_of(path) == room and (room, name) not in KEPT_HOOKS
        for body in found.values() if re.search(rf"\bstruct {name} \*?\w+[;,]", body)
    }
    for path, code in bodies.items():
        if not path.endswith(".c") or folder_of(path) not in ROOMS:
            continue
        lower = ROOMS[:ROOMS.index(folder_of(path))]
        own = {name for name, _, _ in functions(code)}
        for match in re.finditer(r"->(\w+) = ([^;]+);", code):
            words = set(re.findall(r"(?<![\w.>])\w+(?![\w.(-])", match.group(2)))
            for (room, name), members in sorted(pointers.items()):
                if room in lower and match.group(1) in members and words & own:
                    line = code.count("\n", 0, match.start()) + 1
                    yield (f"{path}:{line}: {room} would call {match.group(2)} of a higher room: "
                           f"struct {name}")
        for match in re.finditer(r"\bstruct (\w+)(?: \w+(?:\[\w*\])* =|\)) ?\{", code):
            filled = set(re.findall(r"\.(\w+) = ", code[match.end():closing(code, match.end())]))
            for room in lower:
                if (room, match.group(1)) in kept:
                    for member in sorted(filled & holders[room, match.group(1)]):
                        line = code.count("\n", 0, match.start()) + 1
                        yield (f"{path}:{line}: {room} keeps struct {match.group(1)} and would call "
                               f"{member} of a higher room")


def check_umbrella(path, text):
    """Finds headers that declare nothing and only include others."""
    if not path.endswith(".h") or not path.startswith(("src/", "include/")):
        return
    code = strip_directives(strip(text))
    if not re.search(r"\w", code) and "#define" not in re.sub(
        r"#ifndef (\w+)\s*\n\s*#define \1\b", "", text
    ):
        yield f"{path}: declares nothing (umbrella headers are not used)"


def check_guard(path, text):
    if path.endswith(".h") and not re.search(r"^#ifndef (\w+_H)\n#define \1$", text, flags=re.M):
        yield f"{path}: no include guard"


def functions(text):
    """Yields (name, first line, parameters) of each function definition."""
    code = strip_directives(strip(text))
    depth = 0
    start = 0  # just after the last top-level ; or }
    index = 0
    head = None
    while index < len(code):
        char = code[index]
        if char == "{":
            if depth == 0:
                head = (start, index)
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                found = parse_head(code[head[0]:head[1]])
                if found:
                    name, parameters, offset = found
                    first = code.count("\n", 0, head[0] + offset) + 1
                    yield name, first, parameters
                start = index + 1
        elif char == ";" and depth == 0:
            start = index + 1
        index += 1


def parse_head(head):
    """Returns name, number of parameters and offset of the first word of `type name(parameters)`."""
    match = re.search(r"(\w+)\s*\(", head)
    if not match or "=" in head[: match.start()] or match.group(1) in CONTROL_WORDS:
        return None
    while match and match.group(1) == "__attribute__":
        match = re.compile(r"(\w+)\s*\(").search(head, match.end())
    if not match:
        return None
    level, commas, index = 1, 0, match.end()
    begin = index
    while index < len(head) and level:
        level += {"(": 1, ")": -1}.get(head[index], 0)
        commas += head[index] == "," and level == 1
        index += 1
    inside = head[begin:index - 1].strip()
    parameters = 0 if inside in ("", "void") else commas + 1
    return match.group(1), parameters, len(head) - len(head.lstrip())


def check_plan(path, text):
    """Finds functions outside src/plan that may change a plan: they must take it as const."""
    code = strip(text)
    if not path.startswith("src/") or folder_of(path) == "plan":
        return
    for match in re.finditer(r"(?<!const )\bstruct plan \*+\w+(?=[,)])", code):
        line = code.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: a function outside src/plan takes const struct plan *"


def check_functions(path, text):
    for name, first, parameters in functions(text):
        if parameters > PARAMETERS_MAX and name not in CALLBACKS:
            yield f"{path}:{first}: {name} has {parameters} parameters, at most {PARAMETERS_MAX}"


def check_banned_calls(path, text):
    code = strip(text)
    for match in BANNED_CALLS.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: {match.group(1)} is not used here"


def check_conditionals(path, text):
    """Finds chains such as `a ? x : b ? y : z`. An if, a switch or a table is easier to read."""
    code = strip_directives(strip(text))
    questions = [0]  # number of ? in the expression at each level of brackets
    for at, letter in enumerate(code):
        if letter in "([{":
            questions.append(0)
        elif letter in ")]}" and len(questions) > 1:
            questions.pop()
        if letter in ";,}" or (letter == "=" and code[at - 1] not in "=!<>" and code[at + 1] != "="):
            questions[-1] = 0
        elif letter == "?":
            questions[-1] += 1
            if questions[-1] == 2:
                yield f"{path}:{code.count(chr(10), 0, at) + 1}: a chain of ?: has more than two arms"


RULES_FOR_C = (check_includes, check_umbrella, check_guard, check_plan, check_functions,
               check_banned_calls, check_conditionals)
