"""Decides whether a change of a text for people does more than tell them something."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from domain.paths import tells_terms
from domain.review.impact import Impact

_FENCE = re.compile(r"^[ \t>*+-]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_ACTIVE = re.compile(
    r"<\s*(script|iframe|frame|object|embed|applet|form|base|link|meta|portal|svg[^>]*\bon)\b[^>]*"
    r"|<[a-z][^>]*\son[a-z]{3,}\s*=[^>]*|\bsrcdoc\s*=|\b(javascript|vbscript)\s*:(?!\s)[^\s)\"'>]*|\bdata:text/html[^\s)]*",
    re.IGNORECASE,
)
"""Markup that runs, frames or sends something, or moves where a page leads."""
_RAW = re.compile(
    r"^\s*\.\.\s+raw::.*|^\.\.\s+role::.*\(raw\).*|^\+{4,}\s*$|\bpass:[a-z,]*\[.*"
    r"|^[ \t]*[`~:]{3,}\s*\{(raw|eval-rst).*"
)
"""What lets markup through that a format would have shown as text."""
_FETCH = r"\b(curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c)\b"
_SHELL = (
    r"(sudo\s+(-\S+\s+)*)?(env\s+)?([\w/]*/)?"
    r"((ba|z|k|da|fi|a)?sh|python[\d.]*|node|perl|ruby|php|iex|invoke-expression|pwsh|powershell)\b"
)
_PASTED = re.compile(
    rf"{_FETCH}[^|\n`]*\|\s*{_SHELL}.*|\b(eval|source|\.|{_SHELL})\s+(-\S+\s+)*[\"']?(\$|<)\([^)]*{_FETCH}.*"
    rf"|\b(iex|invoke-expression)\b.*({_FETCH}|downloadstring).*|(^|[|&;`(]|\$ |# )\s*(sudo|doas|runas)\s+\S.*"
    r"|\bbase64\s+(-d|-D|--decode)\b.*\|.*",
    re.IGNORECASE,
)
"""Commands that run what they download, or run as root."""
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`]+|[\w.+-]+@[\w-]+(\.[\w-]+)+", re.IGNORECASE)


def find_impact(path: str, base: str | None, head: str) -> Impact:
    """The impact of a change of a document: ``behaviour`` if it adds what acts when it is shown, pasted or written to.

    What stood in the document before may stay, and move; only what is new counts.

    :param base: its text before; None for a new file.
    """
    before, after = Counter(_list_acts(path, base or "")), Counter(_list_acts(path, head))
    return Impact.behaviour if after - before or _changes_licence(path, base, head) else Impact.document


def _changes_licence(path: str, base: str | None, head: str) -> bool:
    """Whether the terms changed; years do not count."""
    is_licence = tells_terms(path) and not _tells_where(path)
    return base is not None and is_licence and _read_terms(base) != _read_terms(head)


def _tells_where(path: str) -> bool:
    return PurePosixPath(path).name.lower().startswith("security")


def _read_terms(text: str) -> list[str]:
    return re.sub(r"[\d,–-]+", " ", text).split()


def _list_acts(path: str, text: str) -> Iterator[str]:
    """Everything in a document that acts, as it is written; markup within code is only shown."""
    is_in_code = _find_code(text) if not path.lower().endswith(".rst") else {}
    for number, line in enumerate(text.split("\n")):
        if number not in is_in_code:
            shown = _CODE_SPAN.sub("", line)
            yield from (" ".join(each[0].split()) for each in _ACTIVE.finditer(shown))
        yield from (" ".join(each[0].split()) for each in _RAW.finditer(line))
        yield from (" ".join(each[0].split()) for each in _PASTED.finditer(line))
    if tells_terms(path) and _tells_where(path):
        yield from (each[0].rstrip(".,;:") for each in _ADDRESS.finditer(text))


def _find_code(text: str) -> dict[int, str]:
    """The lines within fences, with their fence, as Markdown has them."""
    found: dict[int, str] = {}
    fence = ""
    for number, line in enumerate(text.split("\n")):
        mark = _FENCE.match(line)
        if fence:
            found[number] = fence
            if mark and mark["fence"].startswith(fence) and not mark["info"].strip():
                fence = ""
        elif mark and not mark["info"].lstrip().startswith("{"):
            fence = mark["fence"]
    return found
