"""What the planner is asked: the issue and what people wrote about it, framed as data."""

import re
from collections.abc import Callable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from agents.prompts import prompt
from agents.review.model.questions import framed, plain
from domain.runs.contracts import CONTRACTS
from domain.runs.plan import Plan
from domain.text.escaping import visible

Redact = Callable[[str], str]

_TITLE, _BODY, _COMMENT = 300, 12_000, 2_000  # characters of each that are shown
_COMMENTS = 24_000  # characters of all comments together
_ENTRIES = 200
_PLAN = 24_000
_LONGEST = 65_536  # characters GitHub lets people write at once
_WRITERS = frozenset({"write", "maintain", "admin"})

_HIDES_THE_REST = re.compile(r"^ {0,3}<!--", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?:[^\[\]]|\[[^\[\]]*+\])*+\](?:\([^()]*+\)|\[[^\[\]]*+\])?")
_TITLED = r"""(?:"[^"\n]*+"|'[^'\n]*+'|\([^()\n]*+\))"""
_REFERENCE = re.compile(
    rf"^[ >]{{0,10}}\[(?!\^)[^\[\]\n]{{1,200}}\]:[ \t]*+(?:<[^<>\n]*+>|[^\s<]\S*+)(?:\s++{_TITLED})?+[ \t]*+$",
    re.MULTILINE,
)
_LINK_TITLE = re.compile(rf"\]\(([^\s()]*+)[ \t]++{_TITLED}[ \t]*+\)")
_ATTRIBUTE = r"""\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+"""
_DECLARED = re.compile(r"<\?.{0,1000}?\?>|<![A-Za-z][^>]{0,1000}>", re.DOTALL)
_TAG = re.compile(rf"<([A-Za-z][A-Za-z0-9-]*+)(?:{_ATTRIBUTE}){{1,30}}+\s*+/?>")
_GAP = re.compile(r"\n[ \t]*+\n(?:[ \t]*+\n)++")


class Said(BaseModel):
    """What a person wrote.

    :param role: their live permission: admin, maintain, write, triage, read or none.
    """

    model_config = ConfigDict(frozen=True)

    login: str
    role: str
    text: str


class PlanningTask(BaseModel):
    """What is known about an issue that is to be planned.

    :param issue: its body, by whoever opened it.
    :param comments: of people, the oldest first, without those of Forge.
    :param entries: paths at the top level of the repository; folders end with “/”.
    :param earlier: the plan that this one replaces.
    :param replies: what people wrote after it.
    :param contracts: the names of those there are.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    title: str
    issue: Said
    comments: tuple[Said, ...] = ()
    default_branch: str
    entries: tuple[str, ...] = ()
    earlier: Plan | None = None
    replies: tuple[Said, ...] = ()
    contracts: tuple[str, ...] = tuple(CONTRACTS)


def instructions() -> str:
    """The stable part, the same for every issue."""
    return prompt("plan")


def content(task: PlanningTask, redact: Redact) -> str:
    """The varying part, all of it data.

    :param redact: takes credentials out of a text.
    """
    data = [*_issue(task, redact), *_repository(task, redact), *_comments("comments", task.comments, redact)]
    if task.earlier is not None:
        data += _earlier(task.earlier, redact)
        data += _comments("replies to the earlier plan", task.replies, redact)
    return framed("\n".join(data))


def readable(text: str) -> str:
    """A person's Markdown without what its page would not show: comments, texts of images, attributes, titles of links.

    What stands in code is treated alike, so that nothing hides behind a fence that GitHub reads differently.
    """
    bare = _uncommented(visible(text[:_LONGEST]))
    bare = _DECLARED.sub(" ", bare)
    for expression, instead in ((_IMAGE, "(image)"), (_REFERENCE, ""), (_LINK_TITLE, r"](\1)"), (_TAG, r"<\1>")):
        bare = expression.sub(instead, bare)
    return _GAP.sub("\n\n", bare).strip()


def _uncommented(text: str) -> str:
    """The text without HTML comments; one without an end hides all the rest only if it begins a line."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 2)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    rest = text[at:]
    hiding = _HIDES_THE_REST.search(rest)
    return "".join([*parts, rest if hiding is None else rest[: hiding.start()]])


def _issue(task: PlanningTask, redact: Redact) -> Iterator[str]:
    yield f"== issue {task.number} by {_by(task.issue)}"
    yield f"Title: {redact(plain(task.title, _TITLE))}"
    yield _quoted(task.issue.text, _BODY, redact) or "(without a body)"


def _repository(task: PlanningTask, redact: Redact) -> Iterator[str]:
    yield "== repository"
    yield f"Default branch: {_flat(task.default_branch)}"
    yield f"Contracts: {', '.join(map(_flat, task.contracts)) or 'none'}"
    yield "Top level:"
    yield from (f"- {redact(_flat(entry))}" for entry in task.entries[:_ENTRIES])
    yield from _left_out(len(task.entries) - _ENTRIES, "entries")


def _earlier(plan: Plan, redact: Redact) -> Iterator[str]:
    yield "== earlier plan"
    written = redact(visible(plan.model_dump_json(exclude_defaults=True)).replace("\n", " "))
    yield written[:_PLAN]
    yield from _left_out(len(written) - _PLAN, "more characters")


def _comments(title: str, said: Sequence[Said], redact: Redact) -> Iterator[str]:
    """As many as there is room for, in the order they were written."""
    if not said:
        return
    shown = dict(_fitting(said, redact))
    yield f"== {title}"
    yield from _left_out(len(said) - len(shown), "comments")
    for index in sorted(shown):
        yield f"{_by(said[index])}:"
        yield shown[index]


def _fitting(said: Sequence[Said], redact: Redact) -> Iterator[tuple[int, str]]:
    """Those of people who may write first, so that nobody else can crowd them out; among them the newest."""
    room = _COMMENTS
    ranked = sorted(range(len(said)), key=lambda index: (said[index].role in _WRITERS, index), reverse=True)
    for index in ranked:
        if room < _COMMENT:
            return
        text = _quoted(said[index].text, _COMMENT, redact)
        room -= len(text) + 100
        yield index, text or "> (nothing that can be read)"


def _quoted(text: str, most: int, redact: Redact) -> str:
    """What somebody wrote, with a mark before each line, so that none can pass for a heading or a note of ours."""
    bare = redact(readable(text))
    if not bare:
        return ""
    lines = [f"> {line}" for line in bare[:most].split("\n")]
    return "\n".join([*lines, *_left_out(len(bare) - most, "more characters")])


def _left_out(count: int, what: str) -> list[str]:
    return [f"[{count:,} {what} are left out]"] if count > 0 else []


def _by(said: Said) -> str:
    return f"{_flat(said.login)} (role {_flat(said.role)})"


def _flat(name: str) -> str:
    """A name of a stranger's making, on one line."""
    return " ".join(visible(name).split())[:300]
