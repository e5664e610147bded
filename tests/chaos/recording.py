"""Writes what sweeps of kills found into the file that is committed, one line for each."""

import fcntl
from pathlib import Path

from tests.chaos.sweep import Result

_MISSED = 0.1  # of what is played; more would prove too little
_RESULT = Path(__file__).parent / "last-result.md"
_HEAD = """\
# The last sweep of kills

Written by `make chaos`. Each line: what was played how often (once undisturbed, then once for each point that was
chosen), how many processes were killed with SIGKILL, how many points were not reached in three attempts because another
workflow was quicker, and how often the end was not that of an undisturbed run, or an invariant of docs/threats.md did
not hold.

| what | points | played | kills | not reached | wrong |
| --- | --- | --- | --- | --- | --- |
"""


def record(what: str, points: int, result: Result) -> None:
    """Put one line into the file of results, in place of that of an earlier run; fail if anything was wrong."""
    line = f"| {what} | {points} | {result.played} | {result.kills} | {len(result.missed)} | {len(result.wrong)} |"
    print(line, *result.missed, *result.wrong, sep="\n")
    with _RESULT.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = [each for each in file.read().splitlines() if each.startswith("| ")][2:]
        kept = [each for each in lines if not each.startswith(f"| {what} |")]
        file.truncate(0)
        file.write(_HEAD + "\n".join(sorted([*kept, line])) + "\n")
    assert result.wrong == []
    assert len(result.missed) <= _MISSED * result.played
