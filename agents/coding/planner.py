"""The planner: its task, an issue or an instruction on a pull request, framed as data, and its tools."""

import re
from collections.abc import Iterator, Sequence

from agents.coding.recovery import render_baseline
from agents.loop.loop import Agent
from agents.loop.tools.files import make_file_tools
from agents.loop.tools.history import make_history_tools
from agents.loop.turns import Assignment
from agents.prompts import flatten_markdown, frame_data, load_prompt, note_omitted
from agents.prompts.conventions import render_conventions, render_elsewhere
from domain.review.reading import NO_CONVENTIONS, Conventions
from domain.runs.earlier_tests import Baseline
from domain.runs.plan import Plan, Planned, find_mistakes
from domain.text.escaping import flatten_text, strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value
from workspace.snapshot import Snapshot

_TITLE, _BODY, _COMMENT = 300, 12_000, 2_000  # characters of each that are shown
_COMMENTS = 24_000  # characters of all comments together
_ENTRIES = 200
_EXCERPT = 8_000  # characters of a text of the repository
_PLAN = 24_000
_LONGEST = 65_536  # characters that GitHub allows in one comment
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

Writers = tuple[int, ...]
"""The accounts that wrote or edited a text, with :data:`domain.github.commits.AN_APP`; no model sees them."""


class AuthoredText(Value):
    """A text that a person wrote.

    :param role: the person's current permission: admin, maintain, write, triage, read or none.
    """

    login: str
    role: str
    text: str
    by: Writers


class Excerpt(Value):
    """A text of the repository or of its checks that an instruction is about; untrusted.

    :param heading: what it is.
    :param by: nobody for what is in commits, whose authors are known anyway.
    """

    heading: str
    text: str
    by: Writers


class InstructionPlace(Value):
    """Where on a pull request somebody gave an instruction.

    :param changed: the files that the pull request changes.
    :param path: the file on whose diff it was given, and ``line`` its line; empty below the conversation.
    :param said: what was said before in the same thread, oldest first.
    :param shown: what whoever carries it out has to know of the repository.
    """

    changed: tuple[str, ...] = ()
    path: str = ""
    line: int | None = None
    said: tuple[AuthoredText, ...] = ()
    shown: tuple[Excerpt, ...] = ()


class PlanningTask(Value):
    """What the planner knows about an issue, or about an instruction on a pull request.

    :param issue: its body and author.
    :param comments: comments by people, oldest first, without those of Forge.
    :param entries: paths at the top level of the repository; folders end with “/”.
    :param title_by: who wrote or changed the title, where that is not among those of ``issue``.
    :param asked: what the planner asked in the run before; none if that did not end with questions.
    :param earlier: the plan that this one replaces, and ``earlier_by`` whose words made it.
    :param replies: comments by people after that plan.
    :param conventions: what the repository wrote down about how it wants code to be written.
    :param place: of an instruction, whose words are those of ``issue`` and whose number and title are those of the
        pull request; None for an issue.
    """

    number: int
    title: str
    issue: AuthoredText
    comments: tuple[AuthoredText, ...] = ()
    default_branch: str
    entries: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    earlier: Plan | None = None
    earlier_by: tuple[int, ...] = ()
    title_by: tuple[int, ...] = ()
    replies: tuple[AuthoredText, ...] = ()
    conventions: Conventions = NO_CONVENTIONS
    place: InstructionPlace | None = None

    @property
    def writers(self) -> frozenset[int]:
        """Everybody who wrote or edited part of what the planner is told."""
        place = self.place or InstructionPlace()
        texts = (self.issue, *self.comments, *self.replies, *place.said, *place.shown)
        return frozenset({*self.title_by, *self.earlier_by}).union(*(each.by for each in texts))

    @property
    def request(self) -> str:
        """What people asked for: the issue, and what those who may write to the repository said about it."""
        said = [each.text for each in (*self.comments, *self.replies) if each.role in _WRITERS]
        return "\n".join([self.title, self.issue.text, *said])


def build_agent(snapshot: Snapshot, never_send: Sequence[str]) -> Agent[Planned]:
    """The planner, which can read the code of a snapshot and its history.

    :param never_send: globs of files that a model must not see.
    """
    tools = (
        *make_file_tools(snapshot, never_send=never_send),
        *make_history_tools(snapshot.history, never_send=never_send),
    )
    return Agent(Planned, tools, find_mistakes)


def build_assignment(task: PlanningTask, baseline: Baseline | None = None, *, says_words: bool = True) -> Assignment:
    """The planner's assignment. Its key must never change, because journals hold it.

    :param baseline: how the repository's commands end before any change, if that is known.
    :param says_words: whether the model may see what tests print.
    """
    content = build_content(task, baseline, says_words=says_words)
    instructions = load_instructions()
    if task.place is not None:
        instructions = f"{instructions}\n\n{load_prompt('do')}"
    return Assignment(key="plan", instructions=instructions, content=content)


def load_instructions() -> str:
    """The instructions, the same for every issue."""
    return load_prompt("plan")


def build_content(task: PlanningTask, baseline: Baseline | None = None, *, says_words: bool = True) -> str:
    """The content that varies, all of it framed as data.

    :param baseline: how the repository's commands end before any change, if that is known.
    :param says_words: whether the model may see what tests print.
    """
    data = [
        *(_render_issue(task) if task.place is None else _render_instruction(task, task.place)),
        *_render_repository(task),
        *render_baseline(baseline, says_words=says_words),
        *render_conventions(task.conventions),
        *render_elsewhere(task.conventions),
        *_render_asked(task.asked),
        *_render_comments("comments", task.comments),
    ]
    if task.earlier is not None:
        data += _render_earlier(task.earlier)
        data += _render_comments("replies to the earlier plan", task.replies)
    return frame_data("\n".join(data))


def strip_hidden_markup(text: str) -> str:
    """Removes what GitHub does not show of a person's Markdown: comments, image texts, attributes and link titles.

    Code is treated the same, so that nothing can hide behind a fence that GitHub reads differently.
    """
    bare = _strip_comments(strip_invisible(text[:_LONGEST]))
    bare = _DECLARED.sub(" ", bare)
    for expression, instead in ((_IMAGE, "(image)"), (_REFERENCE, ""), (_LINK_TITLE, r"](\1)"), (_TAG, r"<\1>")):
        bare = expression.sub(instead, bare)
    return _GAP.sub("\n\n", bare).strip()


def _strip_comments(text: str) -> str:
    """Removes HTML comments; one without an end hides the rest only if it begins a line."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 2)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    rest = text[at:]
    hiding = _HIDES_THE_REST.search(rest)
    return "".join([*parts, rest if hiding is None else rest[: hiding.start()]])


def _render_issue(task: PlanningTask) -> Iterator[str]:
    yield f"== issue {task.number} by {_render_author(task.issue)}"
    yield f"Title: {redact_outgoing(flatten_markdown(task.title, _TITLE))}"
    yield _quote(task.issue.text, _BODY) or "(without a body)"


def _render_instruction(task: PlanningTask, place: InstructionPlace) -> Iterator[str]:
    yield f"== instruction by {_render_author(task.issue)}"
    yield _quote(task.issue.text, _BODY) or "(nothing that can be read)"
    if place.path:
        yield "== given at"
        yield redact_outgoing(_flatten(place.path if place.line is None else f"{place.path}:{place.line}"))
    yield from _render_comments("said before in this thread", place.said)
    yield f"== pull request {task.number}"
    yield f"Title: {redact_outgoing(flatten_markdown(task.title, _TITLE))}"
    yield "It changes:"
    yield from (f"- {redact_outgoing(_flatten(path))}" for path in place.changed[:_ENTRIES])
    yield from note_omitted(len(place.changed) - _ENTRIES, "files")
    for each in place.shown:
        yield f"== {redact_outgoing(_flatten(each.heading))}"
        yield _quote_code(each.text, _EXCERPT) or "(empty)"


def _render_repository(task: PlanningTask) -> Iterator[str]:
    yield "== repository"
    yield f"Default branch: {_flatten(task.default_branch)}"
    yield "Top level:"
    yield from (f"- {redact_outgoing(_flatten(entry))}" for entry in task.entries[:_ENTRIES])
    yield from note_omitted(len(task.entries) - _ENTRIES, "entries")


def _render_asked(questions: Sequence[str]) -> Iterator[str]:
    if questions:
        yield "== questions you asked before"
        yield from (f"- {redact_outgoing(_flatten(each))}" for each in questions)


def _render_earlier(plan: Plan) -> Iterator[str]:
    yield "== earlier plan"
    written = redact_outgoing(strip_invisible(plan.model_dump_json(exclude_defaults=True)).replace("\n", " "))
    yield written[:_PLAN]
    yield from note_omitted(len(written) - _PLAN, "more characters")


def _render_comments(title: str, said: Sequence[AuthoredText]) -> Iterator[str]:
    """As many comments as fit, in the order they were written."""
    if not said:
        return
    shown = dict(_fit_comments(said))
    yield f"== {title}"
    yield from note_omitted(len(said) - len(shown), "comments")
    for index in sorted(shown):
        yield f"{_render_author(said[index])}:"
        yield shown[index]


def _fit_comments(said: Sequence[AuthoredText]) -> Iterator[tuple[int, str]]:
    """Chooses comments of people with write permission first, then the newest, so that others cannot crowd them out."""
    room = _COMMENTS
    ranked = sorted(range(len(said)), key=lambda index: (said[index].role in _WRITERS, index), reverse=True)
    for index in ranked:
        if room < _COMMENT:
            return
        text = _quote(said[index].text, _COMMENT)
        room -= len(text) + 100
        yield index, text or "> (nothing that can be read)"


def _quote(text: str, most: int) -> str:
    """Marks each line of a person's text, so that none looks like a heading or a note of Forge."""
    bare = redact_outgoing(strip_hidden_markup(text))
    if not bare:
        return ""
    lines = [f"> {line}" for line in bare[:most].split("\n")]
    return "\n".join([*lines, *note_omitted(len(bare) - most, "more characters")])


def _quote_code(text: str, most: int) -> str:
    """Marks each line of code, or of what a program printed, in which nothing is markup."""
    plain = redact_outgoing(strip_invisible(text)).strip("\n")
    lines = [f"> {line}" for line in plain[:most].split("\n")] if plain else []
    return "\n".join([*lines, *note_omitted(len(plain) - most, "more characters")])


def _render_author(said: AuthoredText) -> str:
    return f"{_flatten(said.login)} (role {_flatten(said.role)})"


def _flatten(name: str) -> str:
    """An untrusted name on one line."""
    return flatten_text(name)[:300]
