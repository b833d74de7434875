"""Turns of phrase that no comment, message, page or test of the project may have.

Readers stumbled over each of them: see "Plain English" in docs/contributing.md. A file is read as one
text: the characters between two lines of a comment or of a string count as a blank.
"""

import bisect
import re

TURNS = (
    ("behind", "after", r"behind (?!an? (?:proxy|pooler|firewall|load balancer)\b)(?:it|them|the|an?|each|all|that|those"
     r"|this|these|one|its|their|what|which|another|every)"),
    ("is none", "does not, or the noun", r"(?:is|are|was|were|be) (?-i:none)"),
    ("is no NOUN", "is not a NOUN, or unknown NOUN",
     r"(?<!there )(?<!There )(?:is|are|was|were) no (?!longer\b|more than\b|(?:less|later|slower|worse|faster|larger|smaller|higher|lower|older|earlier) than\b)[a-z]+"),
    ("tells, is told", "reports, shows, says", r"tells|(?:is|are|was|were|be|been|being) told"),
    ("of a script", "with a script, or of the script", r"of a script(?!')"),
    ("comes to", "results in, or is", r"(?:comes?|came|coming) to"),
    ("goes by", "uses, or follows", r"(?:goes|go|went) by"),
    ("be it", "whether it is", r"be it"),
    ("anew", "again", r"anew"),
    ("memory is out", "memory runs out, or when out of memory", r"memory (?:is|was) out"),
    ("another X than", "a different X from", r"another (?:(?!more\b)[a-z]+ ){1,3}than"),
    ("does a run or change", "makes, or runs", r"does a (?:run|change)"),
    ("nobody", "no one, or the noun", r"(?<!user )(?<![=\"/|])nobody(?:'s)?(?![\"|])"),
)
PATTERNS = [(turn, instead, re.compile(rf"\b(?:{pattern})\b", re.I)) for turn, instead, pattern in TURNS]
PATTERNS.append(("a sentence begins with Of", "the noun first", re.compile(r"(?:(?<=[.!?] )|(?<=/\* )|(?<=¶ )|(?<=\"))Of\b")))
PATTERNS.append((", too", "also, before the verb",
                 re.compile(r", too\b(?! (?:many|few|much|little|large|small|long|short|old)\b)")))
PATTERNS.append((", also when", "even when", re.compile(r", also (?:when|if)\b")))
BETWEEN_LINES = re.compile(
    r"\"[ \t]*\\?\n[ \t]*\""  # two parts of a string of C
    r"|[ \t]*\n[ \t]*(?:\*(?!/)|//|#+|--|\.\\\"|>)?[ \t]*"
)
PARAGRAPH = "¶"


def as_one_text(text):
    """Returns the text with one blank between two words, also at the ends of lines, and the place where each word
    began. An empty line becomes a word of its own, so that no turn begins before it and ends after it."""
    text = BETWEEN_LINES.sub(lambda match: " " * len(match.group(0)), re.sub(r"\n(?=[ \t]*\n)", PARAGRAPH, text))
    words, places, length = [], [], 0
    for match in re.finditer(r"¶|[^\s¶]+", text):
        words.append(match.group(0))
        places.append((length, match.start()))
        length += len(match.group(0)) + 1
    return " ".join(words), places


def check_words(path, text):
    whole, places = as_one_text(text)
    starts = [start for start, _ in places]
    for turn, instead, pattern in PATTERNS:
        for match in pattern.finditer(whole):
            place = places[bisect.bisect_right(starts, match.start()) - 1][1]
            yield f"{path}:{text.count(chr(10), 0, place) + 1}: '{match.group(0)}': write {instead} ({turn})"
