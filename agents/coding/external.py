"""Prepares the task of a command-line agent of another make, and reads what it reports."""

import shlex
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from agents.coding.implementer import ImplementationTask, add_recovery, build_content
from agents.llm.ask import ModelResult
from agents.loop.turns import Assignment
from agents.prompts import load_prompt
from domain.paths import is_test
from domain.runs.patches import MOST_TESTS, ChangeSet, Violation, Worked
from domain.runs.plan import LONGEST_WORDS
from domain.value import Value

REPORT_FILE = "report.json"
LARGEST_REPORT = 100_000  # bytes
_LONGEST_TASK = 120_000  # bytes of one argument of a command: Linux takes 128 KiB
_SUMMARY = "It says nothing about what it changed."
_NOT_SAID = "It does not say what is missing."


class _Report(Value):
    """What an agent writes, however long."""

    summary: str = ""
    is_done: bool = True
    not_done: str = ""


class ExternalWork(ModelResult):
    """What an agent of another make changed and reported, or why nothing of it is taken.

    :param change: what it changed; allowed as it is.
    :param is_broken: whether the place where it works failed, not the agent.
    :param kept: the number of the last checkpoint of the work; 0 if there is none.
    """

    NO_WORDS = frozenset({"change"})

    change: ChangeSet | None = None
    worked: Worked | None = None
    is_broken: bool = False
    kept: int = 0


def build_external_assignment(key: str, task: ImplementationTask, *, says_words: bool) -> Assignment:
    """The assignment of an agent that changes files itself.

    :param key: names the piece of work in the journal.
    :param says_words: whether it may see what tests print.
    """
    content = build_content(task, says_words=says_words)
    return Assignment(key=key, instructions=add_recovery(load_prompt("external"), task), content=content)


def build_command(configured: str, task: str, task_file: str) -> tuple[str, ...]:
    """The words of the command, with the task in the place of ``{task}`` and its file in that of ``{task_file}``."""
    short = task.encode()[:_LONGEST_TASK].decode(errors="ignore").replace("\0", "")
    return tuple(word.replace("{task_file}", task_file).replace("{task}", short) for word in shlex.split(configured))


def build_environment(
    address: tuple[str, int], key: str, report: str, task_file: str, wait: float
) -> Mapping[str, str]:
    """The variables by which an agent finds its model, its task, and where to report.

    :param address: of the gateway, as the agent sees it.
    :param key: that the gateway takes.
    :param wait: seconds in which an answer of the model may come.
    """
    url = "http://{}:{}".format(*address)
    return {
        "OPENAI_API_KEY": key,
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_API_KEY": key,
        "ANTHROPIC_BASE_URL": url,
        "API_TIMEOUT_MS": str(round(wait * 1000)),  # Claude Code's name for it
        "FORGE_REPORT": report,
        "FORGE_TASK": task_file,
    }


def read_report(written: bytes | None, change: ChangeSet) -> Worked:
    """What the agent reports; a report that cannot be read, or none, counts as one that says nothing.

    :param change: what it changed.
    """
    tests = tuple(file.path for file in change.files if not file.is_gone and is_test(file.path))[:MOST_TESTS]
    silent = Worked(summary=_SUMMARY, is_done=True, tests_added=tests)
    try:
        told = None if written is None else _Report.model_validate_json(written)
    except ValidationError:
        told = None
    if told is None:
        return silent
    summary = " ".join(told.summary.split())[:LONGEST_WORDS] or _SUMMARY
    left = "" if told.is_done else " ".join(told.not_done.split())[:LONGEST_WORDS] or _NOT_SAID
    return Worked(summary=summary, is_done=told.is_done, not_done=left, tests_added=tests)


def render_refusal(violations: Sequence[Violation]) -> str:
    """What an agent is told about changes that are not taken, as data."""
    return (
        "Nothing of what you changed was taken. Your changes are still there: correct or undo exactly these, keep the "
        f"rest, and end again.\n{_list(violations)}\n"
    )


def render_removal(violations: Sequence[Violation]) -> str:
    """What an agent is told about changes that were removed, as data."""
    return (
        "Nothing of what you changed was taken, and these changes were removed. The rest of them is still there: go on "
        f"from it without these, and end again.\n{_list(violations)}\n"
    )


def _list(violations: Sequence[Violation]) -> str:
    return "\n".join(f"- {violation}" for violation in violations[:50])
