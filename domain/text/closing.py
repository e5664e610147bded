"""Reads which issues the words of a pull request close, as GitHub reads them."""

import re
from collections.abc import Collection

_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b", re.IGNORECASE)


def list_closed_issues(text: str) -> tuple[int, ...]:
    """The numbers of the issues of the same repository, in order, each once.

    Source: https://docs.github.com/issues/tracking-your-work-with-issues/linking-a-pull-request-to-an-issue
    """
    return tuple(dict.fromkeys(int(number) for number in _CLOSES.findall(text)))


def keep_open(text: str, closed: Collection[int]) -> str:
    """The text, in which nothing closes an issue but those of ``closed``."""

    def defuse(found: re.Match[str]) -> str:
        return found[0] if int(found[1]) in closed else found[0].replace("#", "issue #")

    return _CLOSES.sub(defuse, text)
