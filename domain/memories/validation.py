"""Validates the text of a memory that a person writes: people must see it as it is stored."""

import hashlib
import re
from collections.abc import Iterator, Sequence

from domain.memories.memory import LONGEST
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing

MOST_CONTEXT = 200
"""Characters of the context."""
MOST_TAGS = 10
LONGEST_TAG = 60

_EMOJI = {0x200D: None, 0xFE0E: None, 0xFE0F: None}  # these only change how an emoji looks
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_HTML = re.compile(r"<(?:!--|[/?!]?[A-Za-z])")
_DEFINITION = re.compile(r"(?:^|\n)[ ]{0,3}\[[^\]\n]+\]:")


def to_one_line(text: str) -> str:
    """A text in one line, as it is kept."""
    return " ".join(text.translate(_EMOJI).split())


def make_content_key(content: str, context: str = "", tags: Sequence[str] = ()) -> str:
    """A key of the content that ignores spacing and case."""
    text = "\n".join([to_one_line(content), to_one_line(context), *sorted({to_one_line(tag) for tag in tags})])
    return hashlib.sha256(text.casefold().encode()).hexdigest()[:32]


def find_mistakes(content: str, context: str, tags: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Lists mistakes as (part, mistake, allowed)."""
    if not to_one_line(content):
        yield "text", "is empty", f"1 to {LONGEST:,} characters"
    for name, text, most in (("text", content, LONGEST), ("context", context, MOST_CONTEXT)):
        if len(to_one_line(text)) > most:
            yield name, f"has {len(to_one_line(text)):,} characters", f"at most {most:,}"
        yield from ((name, *each) for each in _find_hidden(text))
    if len(tags) > MOST_TAGS:
        yield "tags", f"are {len(tags)}", f"at most {MOST_TAGS}"
    for tag in tags:
        if not 0 < len(to_one_line(tag)) <= LONGEST_TAG or "," in tag:
            yield "tag", "is empty or too long", f"1 to {LONGEST_TAG} characters each, without a comma"
        yield from (("tag", *each) for each in _find_hidden(tag))


def is_html(text: str) -> bool:
    """Whether there is HTML outside of inline code."""
    return _HTML.search(_CODE.sub("", text)) is not None


def _find_hidden(text: str) -> Iterator[tuple[str, str]]:
    """Finds text that GitHub or a terminal would not show as stored, and text that must not be stored."""
    bare = text.translate(_EMOJI)
    if strip_invisible(bare) != bare:
        yield "holds invisible or control characters", ""
    if is_html(bare):
        yield "holds HTML, which hides things", "`<` before a letter only in backticks"
    if _DEFINITION.search(bare):
        yield "holds a link definition, which nobody sees", ""
    if redact_outgoing(bare) != bare:
        yield "holds what looks like a credential", "nothing secret; take it out and revoke it"
