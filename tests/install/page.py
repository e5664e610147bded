"""Reads the commands that docs/install.md gives, so that tests follow them to the letter."""

import re
from pathlib import Path

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
