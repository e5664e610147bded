"""Every text of `/forge describe`: a proposed title and description, made inert, and what became of it."""

import re
from collections.abc import Collection

from domain.text.description import keep_open
from domain.text.escaping import code_block, escape, inline_code
from domain.text.redaction import redact_outgoing
from messages.pull_request import LONGEST_TITLE, render_headline

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
