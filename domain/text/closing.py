"""Reads which issues the words of a pull request close, as GitHub reads them."""

import re

_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b", re.IGNORECASE)


def list_closed_issues(text: str) -> tuple[int, ...]:
    """The numbers of the issues of the same repository, in order, each once.

    Source: https://docs.github.com/issues/tracking-your-work-with-issues/linking-a-pull-request-to-an-issue
    """
    return tuple(dict.fromkeys(int(number) for number in _CLOSES.findall(text)))
