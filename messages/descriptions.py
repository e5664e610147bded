"""Every text of `/forge describe`, `/forge walkthrough` and `/forge ask`: what a model says of code, made inert."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from domain.review.changes import SkippedFile
from domain.text.description import keep_open
from domain.text.escaping import code_block, escape, inline_code, inline_path
from domain.text.redaction import redact_outgoing
from domain.verbs import Verb, find_role
from messages.pull_request import LONGEST_TITLE, render_headline

_PARAGRAPHS, _LONGEST_PARAGRAPH = 6, 1_200  # of an answer; characters of each
CODE_KEPT = "No answer: `review.model: never` in `.github/forge.yml` keeps code from models."
"""Where the configuration keeps code from models."""
NO_CODE = "No answer: this repository has no commit yet, so there is no code to look at."
"""For a repository without a commit."""
HEAD_MOVED = "Nothing was done: the pull request changed meanwhile. Ask again when its new head is reviewed."
"""For a head that was replaced while the model worked."""
UNNAMED = "the model explains it in no part"
"""Why a file is in no part: the model put it into none."""


LONGEST_BODY = 60_000
"""Characters of a description that is proposed; GitHub takes 65,536 for the comment that shows it."""

_MOST_LINES, _LONGEST_LINE = 60, 800  # of a section; characters of each
_ITEM = re.compile(r"(\s{0,6}(?:[-*+]|\d{1,2}[.)])\s+)(.*)")
_NUMBER = re.compile(r"`#(\d{1,9})`")


def render_title(title: str) -> str:
    """A title in which nothing acts; empty if nothing is left of it."""
    return redact_outgoing(render_headline(title, LONGEST_TITLE))


def render_section(text: str, issues: Collection[int], closed: Collection[int]) -> str:
    """A model's words as paragraphs and lists, in which nothing pings, closes, renders HTML, commands or breaks out.

    :param issues: the numbers that may be links; any other stays code.
    :param closed: those that the pull request closes without these words.
    """

    def link(found: re.Match[str]) -> str:
        return f"#{found[1]}" if int(found[1]) in issues else found[0]

    lines = [_render_line(line) for line in text.strip().split("\n")[:_MOST_LINES]]
    shown = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return keep_open(_NUMBER.sub(link, shown), closed)


def _render_line(line: str) -> str:
    found = _ITEM.fullmatch(line)
    mark, said = (found[1], found[2]) if found else ("", line)
    shown = escape(said, _LONGEST_LINE)
    return f"{mark}{shown}" if shown else ""


def render_proposal(title: str, drafted: str, body: str, head_sha: str, note: str = "", *, has_own: bool) -> str:
    """What is proposed, and how to take it.

    :param drafted: the part of the description that is Forge's, in which nothing acts.
    :param body: all of it, whose source is shown.
    :param has_own: people wrote a part of it.
    :param note: why it is proposed, where somebody asked to set what was proposed.
    """
    source = code_block(body, "markdown")
    parts = [note, f"Title: {inline_code(title, LONGEST_TITLE)}"]
    if len(drafted) + len(body) <= LONGEST_BODY:
        quoted = "\n".join(f"> {line}".rstrip() for line in drafted.strip().split("\n"))
        source = f"<details><summary>The source of the whole description</summary>\n\n{source}\n\n</details>"
        parts.append(quoted)
    stays = " What people wrote in the description stays." if has_own else ""
    parts += [
        source,
        "`/forge describe apply` sets both, as long as nobody changes them before.",
        f"<sub>A model wrote it from {inline_code(head_sha[:7])}.{stays}</sub>",
    ]
    return "\n\n".join(part for part in parts if part)


APPLIED = "Title and description are set. GitHub shows the ones before under “edited”."
"""Where the title and the description were set."""
ALREADY_SET = "Title and description are what Forge proposed already. `/forge describe` proposes others."
"""Where they are what was proposed."""
CHANGED_MEANWHILE = (
    "Nothing was set: somebody changed the description at this moment. `/forge describe` proposes one anew."
)
"""Where somebody changed them at the last moment."""


def report_obstacle(why: str) -> str:
    """Where Forge may write nothing.

    :param why: as a clause.
    """
    return f"Nothing was set, because {escape(why)}. Copy the proposal by hand."


TOO_LONG = f"No proposal: the description would be longer than {LONGEST_BODY:,} characters."
"""Where there is no room for more."""
PROPOSED_ANEW = (
    "Nothing is set yet: nothing was proposed for this head and description. The same command sets this new proposal:"
)
"""Above a proposal, where there is none yet for the description as it is."""
NOTHING_TO_ADD = "Title and description say already what there is to say: nothing is proposed."
"""Where the model has nothing to add."""


@dataclass(frozen=True)
class ExplainedFile:
    """A file of a part, with its first and last line there; 0 where it has none at the head.

    :param why: what it is for; a model's words.
    """

    path: str
    first: int
    last: int
    why: str

    @property
    def key(self) -> tuple[str, int, int]:
        """What makes it the same place."""
        return self.path, self.first, self.last


@dataclass(frozen=True)
class ExplainedPart:
    """A part of a change; the words are a model's.

    :param hardest: what to look at hardest.
    """

    title: str
    what: str
    files: tuple[ExplainedFile, ...]
    hardest: str


_TITLE, _WHAT, _WHY = 120, 900, 240  # characters
_MOST_LEFT = 30
_LONGEST = 60_000  # characters of a comment; GitHub takes 65,536


def render_walkthrough(
    parts: Sequence[ExplainedPart], left_out: Sequence[SkippedFile], head_sha: str, marker: str = ""
) -> str:
    """The whole walk, and what is not in it; without what each file is for, where that is too long for a comment."""
    text = _render(parts, left_out, head_sha, marker)
    if len(text) <= _LONGEST:
        return text
    brief = [replace(part, files=tuple(replace(file, why="") for file in part.files)) for part in parts]
    return _render(brief, left_out, head_sha, marker)


def _render(parts: Sequence[ExplainedPart], left_out: Sequence[SkippedFile], head_sha: str, marker: str) -> str:
    count = "one part" if len(parts) == 1 else f"{len(parts)} parts, in the order to read them"
    head = f"**Walkthrough** of {inline_code(head_sha[:7])}: {count}."
    shown = [_render_part(number, part) for number, part in enumerate(parts, 1)]
    foot = "<sub>A model wrote it from the diff. After a push, `/forge walkthrough` brings it up to date.</sub>"
    return "\n\n".join(part for part in (head, *shown, _render_left_out(left_out), foot, marker) if part)


def report_nothing(left_out: Sequence[SkippedFile]) -> str:
    """Where no file of the change can be explained."""
    return "\n\n".join(
        filter(None, ("No walkthrough: nothing of this change is explained.", _render_left_out(left_out)))
    )


def _render_part(number: int, part: ExplainedPart) -> str:
    rows = [f"{at}. {_render_file(file)}" for at, file in enumerate(part.files, 1)]
    hardest = escape(part.hardest, _WHY)
    return "\n\n".join(
        [
            f"**{number}. {escape(part.title, _TITLE)}**",
            escape(part.what, _WHAT),
            "\n".join(rows),
            *([f"Look hardest at: {hardest}"] if hardest else []),
        ]
    )


def _render_file(file: ExplainedFile) -> str:
    lines = f"{file.first}" if file.first == file.last else f"{file.first}–{file.last}"
    where = inline_path(f"{file.path}:{lines}" if file.first else file.path)
    why = escape(file.why, _WHY)
    return f"{where}: {why}" if why else where


def _render_left_out(left_out: Sequence[SkippedFile]) -> str:
    if not left_out:
        return ""
    rows = [f"- {inline_path(each.path)}: {escape(each.reason)}" for each in left_out[:_MOST_LEFT]]
    more = len(left_out) - _MOST_LEFT
    rows += [f"- and {more} more"] if more > 0 else []
    return f"<details><summary>Left out: {len(left_out)}</summary>\n\n" + "\n".join(rows) + "\n\n</details>"


def render_answer(words: str, places: Sequence[tuple[str, int]], head_sha: str, branch: str = "") -> str:
    """The answer to a question.

    :param words: of a model; nothing in them acts.
    :param places: paths and lines it looked at.
    :param branch: the branch whose head that is; empty for that of a pull request.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", words.strip()) if part.strip()][:_PARAGRAPHS]
    said = "\n\n".join(escape(part, _LONGEST_PARAGRAPH) for part in paragraphs)
    looked = ", ".join(inline_path(f"{path}:{line}") for path, line in places)
    nothing = "Looked into no file" if branch else "Looked at the diff only"
    where = f"Looked at {looked}" if looked else nothing
    at = f"{inline_code(head_sha[:7])} of {inline_code(branch)}" if branch else inline_code(head_sha[:7])
    return f"{said}\n\n<sub>{where}, at {at}. A model answered from the code.</sub>"


_QUOTED = 200  # characters of a question


def quote_question(words: str, answer: str) -> str:
    """An answer below an issue or pull request, where nothing else shows what it answers."""
    return f"> {escape(words, _QUOTED)}\n\n{answer}"


def report_unanswered(why: str, *, was_asked: bool = True) -> str:
    """Where no model gave an answer.

    :param was_asked: false where asking again changes nothing, such as at a limit; ``why`` says what does.
    """
    return f"No answer: {escape(why)}" + (" Ask again later, or more exactly." if was_asked else "")


def report_unread_head(verb: Verb, head_sha: str) -> str:
    """For a head that no run is about."""
    return (
        f"{inline_code(head_sha[:7])} has not been reviewed yet. Write `/forge review`, then "
        f"{inline_code(f'/forge {verb}')}."
    )


def refuse_without_ok(verb: Verb) -> str:
    """For the head of a fork that nobody with write permission allowed Forge to run."""
    role = find_role(Verb.review, on_fork=True)
    return (
        f"Nobody with the role {role} has allowed this head of a fork yet, so {inline_code(f'/forge {verb}')} does "
        "nothing here. Look at the change; `/forge review` allows this head."
    )


def report_lost_permission(verb: Verb) -> str:
    """For somebody who lost the role while the model worked."""
    return f"Nothing was done: who wrote {inline_code(f'/forge {verb}')} may not do that any more."


def report_failure(verb: Verb, message: str) -> str:
    """For an error on the way."""
    return f"{inline_code(f'/forge {verb}')} failed: {escape(message)} Ask again later."
