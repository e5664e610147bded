"""Reads the commands that the pages of installing give, so that tests follow them to the letter."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "install.md"
FOLLOWED = ("README.md", "docs/install.md")
"""The pages that somebody follows from a clone to the first review."""
_HEADING = re.compile(r"^#{1,3} (.+)$")
_PLACEHOLDER = re.compile(
    r"""
    \$\(?[A-Z][A-Z_]+            # a variable that nobody set
    | (?<![\w$.-])[A-Z]{3,}\b(?!=) # a word in capitals, but no name of a setting
    | [\w.-]*example\.com(?:/\w+)?
    | \b12345\b
    | \b\d+\.\d+\.\d+\b(?!\.)    # a version
    | …
    """,
    re.VERBOSE,
)


class UnknownPlaceholderError(Exception):
    """A block has something to fill in that nobody knows a value for."""


@dataclass(frozen=True)
class Block:
    """What stands between two fences of a page.

    :ivar section: the heading above it.
    :ivar number: 1 for the first one of its section.
    :ivar language: that the fence names, such as ``sh``.
    """

    page: str
    section: str
    number: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}, “{self.section}”, {self.number}"

    def find_placeholders(self) -> set[str]:
        """What a reader has to fill in, or to understand as given."""
        without_comments = re.sub(r"(?m)(^|\s)#.*$", "", self.text)
        return set(_PLACEHOLDER.findall(without_comments))

    def fill(self, values: Mapping[str, str]) -> str:
        """The commands with a value for each placeholder.

        :raises UnknownPlaceholderError: one has none.
        """
        if unknown := self.find_placeholders() - values.keys():
            raise UnknownPlaceholderError(f"{self.name} has {', '.join(sorted(unknown))}: give it a value or keep it")
        return _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), self.text)


def list_blocks(pages: Iterable[str] = FOLLOWED) -> list[Block]:
    """Every block of some pages in its order, whatever its language."""
    return [block for page in pages for block in _read_blocks(page)]


def find_block(page: str, section: str, number: int = 1) -> Block:
    """One block of a page.

    :raises LookupError: the page has no such one any more.
    """
    for block in _read_blocks(page):
        if (block.section, block.number) == (section, number):
            return block
    raise LookupError(f"{page} has no block {number} below “{section}”")


def read_commands(section: str) -> str:
    """The shell commands below a heading of docs/install.md, up to the next one, in their order."""
    found = [each for each in list_blocks(["docs/install.md"]) if (each.section, each.language) == (section, "sh")]
    assert found, f"no commands below “{section}”"
    return "".join(each.text for each in found)


def read_yaml(text: str) -> list[Any]:
    """Every document of a file of YAML that is not empty."""
    found: list[Any] = list(YAML(typ="safe").load_all(text))
    return [each for each in found if each]


def _read_blocks(page: str) -> list[Block]:
    found: list[Block] = []
    section, language, lines = "", "", list[str]()
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("```") and not language:
            language, lines = line[3:].strip() or "text", []
        elif line.startswith("```"):
            number = 1 + sum(each.section == section for each in found)
            found.append(Block(page, section, number, language, "".join(lines)))
            language = ""
        elif language:
            lines.append(line)
        elif heading := _HEADING.match(line):
            section = heading[1]
    return found
