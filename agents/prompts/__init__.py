"""The instructions for models, one file each, the same for every question of a kind; and how questions show data."""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from agents.llm.ask import Question
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing

_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,1000}>")
_IMAGE = re.compile(r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])?")


@cache
def load_prompt(name: str) -> str:
    """The instructions in ``NAME.md``."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()


def quote_lines(text: str) -> list[str]:
    """Marks each line, so that none looks like a heading or a note of Forge."""
    return [f"> {line}" for line in strip_invisible(text).split("\n")]


def note_omitted(count: int, what: str) -> list[str]:
    return [f"[{count:,} {what} are left out]"] if count > 0 else []


def frame_data(content: str) -> str:
    """Frames content as data, between two marks that its authors cannot predict."""
    mark = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"BEGIN {mark}\n{content}\nEND {mark}"


def flatten_markdown(text: str, limit: int) -> str:
    """Untrusted Markdown as one line, without comments, tags, images or invisible characters."""
    return strip_hidden(_TAG.sub(" ", _COMMENT.sub(" ", text)))[:limit]


def strip_hidden(text: str) -> str:
    """The text as one line, without what a page would not show: comments, image texts and invisible characters."""
    return " ".join(_IMAGE.sub(" ", _COMMENT.sub(" ", strip_invisible(text))).split())


def build_question(key: str, prompt: str, data: Iterable[str], most: int) -> Question:
    """A question with the instructions of a prompt, about lines that are framed as data, without their credentials.

    :param most: output tokens.
    """
    content = frame_data(redact_outgoing("\n".join(data)))
    return Question(key=key, instructions=load_prompt(prompt), content=content, max_output_tokens=most)
