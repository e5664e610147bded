"""Reads the commands that docs/install.md gives, so that tests follow them to the letter, and the files it names."""

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "install.md"


def read_commands(section: str) -> str:
    """The shell commands below a heading, up to the next one, in their order."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^#{2,3} (.+)$", text, flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    blocks = re.findall(r"^```sh\n(.*?)^```$", sections[section], re.MULTILINE | re.DOTALL)
    assert blocks, f"no commands below “{section}”"
    return "".join(blocks)


def read_yaml(text: str) -> list[Any]:
    """Every document of a file of YAML that is not empty."""
    found: list[Any] = list(YAML(typ="safe").load_all(text))  # pyright: ignore[reportUnknownMemberType]
    return [each for each in found if each]
