"""Leaves out of what a failing test printed which frames of installed packages stand around its own."""

import re

_INSTALLED = re.compile(
    r"^\s*(?:(?:at|from)\s|#\d+\s|/).*(?:/gems/|/(?:site|dist)-packages/|/node_modules/|\bnode:\w).*:\d+.*\n?",
    re.MULTILINE,
)


def drop_frames(text: str) -> str:
    """A text without frames in installed packages, of a runner mostly; as it is where it has nothing else."""
    own = _INSTALLED.sub("", text)
    return own if own.strip() else text
