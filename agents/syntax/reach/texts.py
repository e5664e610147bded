"""Decides whether a text in a test is plain: no address, no place beyond the test's own folder, nothing that is run."""

import re

_ODD = re.compile(r"//|^\s*[/~\\]|^[A-Za-z]:[\\/]|\.\.[/\\]|__|>>>|\\[xuUN0-7]|\$[{(]|`")


def is_plain(text: str) -> bool:
    """Whether a text names nothing outside, as it is written: without its quotes, with its escapes."""
    return _ODD.search(text) is None
