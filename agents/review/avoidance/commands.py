"""Reads which commands of CI, of make and of scripts run tests and checks, and which events start them."""

import re
from collections.abc import Iterator

from agents.review.avoidance.facts import CommandFact
from agents.review.avoidance.lines import LONGEST, TABLES, is_workflow, join_expressions

TESTS, CHECKS = "tests", "checks"
_FAMILIES = {
    family: re.compile(rf"(?:^|[\s\"'`;&|(@/\\])({'|'.join(TABLES['commands'][family])})(?=$|[\s\"'`;&|)\\]|\.exe\b)")
    for family in (TESTS, CHECKS)
}
_SCRIPTS = re.compile(rf"^(?:bash |sh |python3? )?({'|'.join(TABLES['commands']['scripts'])})(?=$|[\s\"'])")
_FILES = join_expressions(TABLES["files"]["commands"])
_NO_COMMAND = re.compile(
    r"\b(install|echo|printf|image|restore-keys|cache-dependency-path)\b|"
    r"^\s*(#|//|-?\s*(name|path|key|needs|if|with|id|uses|stage|working-directory|description|environment)\s*:)|"
    r"\b(npm|pnpm|yarn|pip3?|apt(-get)?|brew|gem|uv) (add|ci|i)\b"
)
_FETCHES = re.compile(r"\b(git clone|curl|wget)\b[^&|;]*")
"""A command that fetches a tool of tests runs none."""
_BEGINS = re.compile(r"^\s*(?:-\s+)?(?:(?:run|script|command|cmd|commands)\s*:\s*)?[@-]*")
_TRIGGER = re.compile(r"\b(pull_request(?:_target)?|push|merge_group|workflow_call|workflow_run)\b")
_ON = re.compile(r"""^["']?on["']?\s*:""")


def find_commands(path: str, text: str) -> tuple[CommandFact, ...]:
    """The commands of a file that run tests or checks, in order; a line may run some of both."""
    return tuple(_find(path, text)) if _FILES.search(path) else ()


def _find(path: str, text: str) -> Iterator[CommandFact]:
    for number, line in enumerate(text.split("\n"), 1):
        command = line.partition(":")[2] if path.endswith(".json") else _BEGINS.sub("", line, count=1)
        if len(line) > LONGEST or _NO_COMMAND.search(line):
            continue
        command = _FETCHES.sub("", command)
        for family, expression in _FAMILIES.items():
            if found := expression.search(command) or (family == TESTS and _SCRIPTS.match(command)):
                tool = found[1].rpartition("/")[2]
                yield CommandFact(line=number, family=family, tool=tool, text=command.strip(" \t\"',@"))


def find_triggers(path: str, text: str) -> frozenset[str]:
    """The events of a forge that start a workflow: changes that somebody pushes or proposes."""
    if not is_workflow(path):
        return frozenset()
    found = set[str]()
    is_inside = False
    for line in text.split("\n"):
        if line[:1] not in {" ", "-", "#", ""}:
            is_inside = _ON.match(line) is not None
        if is_inside and not line.lstrip().startswith("#"):
            found.update(_TRIGGER.findall(line[:LONGEST]))
    return frozenset(found)
