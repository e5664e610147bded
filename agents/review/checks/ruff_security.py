"""Layer 2 for Python: the rules of flake8-bandit in ruff, with our severities, whatever the repository configures."""

import re
from collections.abc import Sequence
from typing import Any

from agents.review.checks.paths import is_test_or_document
from agents.review.checks.ruff_settings import NEWEST, RuffSettings, format_option
from domain.review.findings import Severity

# The severities of bandit, from which these rules come, where it is sure; and corrected where it rates too high what
# is mostly harmless, or too low what is mostly right. Left out are rules of mostly useless findings: bare imports,
# asserts, `random`, every subprocess call and urlopen, SSL without a version, and the three that guess passwords (our
# own search for credentials is better at that and never quotes them).
_SEVERITIES = {
    Severity.error: "S103 S202 S304 S312 S501 S502 S602 S605",
    Severity.warning: (
        "S102 S113 S201 S301 S302 S303 S305 S306 S307 S308 S321 S323 S324 S503 S505 S506 S507 S508 S509 S601 S608 S610 "
        "S611 S612 S701 S702 S704"
    ),
    Severity.info: "S104 S108 S110 S313 S314 S315 S316 S317 S318 S319",
}
_BY_RULE = {rule: severity for severity, rules in _SEVERITIES.items() for rule in rules.split()}
_SEEMS_SAFE = "seems safe"  # how ruff calls a command that is a literal
_WORLD = re.compile(r"mask `0o\d*[2367]`")  # a mode by which everybody may write
_EXECUTED = re.compile(r"\.execute(many)?\(\s*$")
_NAMING = re.compile(r"#\s*noqa\s*:\s*(?P<rules>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)", re.IGNORECASE)
_SILENCING = re.compile(r"#\s*nosec\b:?\s*(?P<tests>[BS]\d{3}(?:[\s,]+[BS]\d{3})*)?")

SETTINGS = RuffSettings(
    "", (format_option("target-version", NEWEST), format_option("lint", {"select": sorted(_BY_RULE)}))
)
"""Everybody's: a repository's own settings switch none of these rules off."""


def rate(entry: dict[str, Any], path: str, lines: Sequence[str], *, heeding: bool) -> Severity | None:
    """The severity of what ruff reports; None if it is not worth reporting. Tests may do what programs should not.

    :param entry: as ruff prints it.
    :param lines: of the file.
    :param heeding: whether comments that silence bandit count.
    """
    code = str(entry["code"])
    severity = _BY_RULE.get(code)
    if severity is None or _SEEMS_SAFE in entry["message"] or (heeding and _is_silenced(entry, code, lines)):
        return None
    if code == "S608" and not _is_executed(entry, lines):
        return None  # text that merely looks like SQL
    if code == "S103" and not _WORLD.search(entry["message"]):
        severity = Severity.warning
    if code == "S202" and "members=" in _read(entry, lines):
        return None  # what is extracted was chosen
    if is_test_or_document(path):
        return Severity.warning if severity is Severity.error else None
    return severity


def _is_silenced(entry: dict[str, Any], code: str, lines: Sequence[str]) -> bool:
    """Whether ``nosec`` stands beside it, or a ``noqa`` that names its rule."""
    text = _read(entry, lines, whole=True)
    if any(code in re.split(r"[\s,]+", found["rules"].upper()) for found in _NAMING.finditer(text)):
        return True
    found = _SILENCING.search(text)
    return found is not None and (found["tests"] is None or code[1:] in re.findall(r"\d{3}", found["tests"]))


def _is_executed(entry: dict[str, Any], lines: Sequence[str]) -> bool:
    """Whether a statement stands where it is handed to a database."""
    row, column = int(entry["location"]["row"]), int(entry["location"]["column"])
    before = "\n".join([*lines[max(row - 3, 0) : row - 1], lines[row - 1][: column - 1]])
    return _EXECUTED.search(before) is not None


def _read(entry: dict[str, Any], lines: Sequence[str], *, whole: bool = False) -> str:
    """The lines of a finding, or what it is about of them."""
    first, last = entry["location"]["row"], entry["end_location"]["row"]
    text = "\n".join(lines[first - 1 : last])
    return text if whole else text[entry["location"]["column"] - 1 :]
