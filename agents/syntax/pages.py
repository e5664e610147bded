"""Decides whether a change of a text for people does more than tell them something."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import PurePosixPath

from markdown_it import MarkdownIt

from domain.paths import tells_terms
from domain.review.impact import Impact

_NESTING = 100  # levels that are read; deeper ones act for certain
_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
_HARMLESS_NAMES = """
    a abbr b blockquote br caption center code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol
    p picture pre q s samp small source span strong sub summary sup table tbody td tfoot th thead tr u ul var
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_TAG = re.compile(r"<[\s/]*(?P<name>[a-z][^\s/>]*)[^<>]*", re.IGNORECASE)
_HANDLER = r"[\s/\"'`]on[a-z]{3,}\s*="
_ACTIVE = re.compile(
    r"<\s*(script|iframe|frame|object|embed|applet|form|base|link|meta|portal)\b[^<>]*"
    rf"|<[a-z][^<>]*{_HANDLER}[^<>]*|\bsrcdoc\s*=|\bformaction\s*=",
    re.IGNORECASE,
)
"""Markup that runs, frames or sends something, or moves where a page leads."""
_SCHEME = re.compile(r"\b(javascript|vbscript)\s*:(?!\s)[^\s)\"'>]*|\bdata:text/html[^\s)]*", re.IGNORECASE)
_RUNS = "raw|include|eval-rst|exec[a-z-]*|program-output|command-output|jupyter-execute|ipython|plot|testcode|testsetup"
_RAW = re.compile(
    rf"^\s*\.\.\s+({_RUNS})::.*|^\.\.\s+role::.*\(raw\).*|^\+{{4,}}\s*$|\bpass:[a-z,]*\[.*"
    rf"|^[ \t>]*[`~:]{{3,}}\s*\{{({_RUNS}).*|^\s*include::.*|--8<--.*"
)
"""What lets markup through that a format would have shown as text, takes in other files or runs as a page is built."""
_FETCH = r"\b(curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c)\b"
_SHELL = (
    r"(sudo\s+(-\S+\s+)*)?(env\s+)?([\w/]*/)?"
    r"((ba|z|k|da|fi|a)?sh|python[\d.]*|node|perl|ruby|php|iex|invoke-expression|pwsh|powershell)\b"
)
_INSTALL = (
    r"\b(?P<manager>pip[\d.]*|pipx|npm|pnpm|yarn|bun|gem|cargo|go|composer|brew)[ \t]+(?:-\S+[ \t]+)*"
    r"(?:install|i|add|get|require)[ \t]+"
)
_PASTED = re.compile(
    rf"{_FETCH}[^|\n`]*\|\s*{_SHELL}.*|\b(eval|source|\.|{_SHELL})\s+(-\S+\s+)*[\"']?(\$|<)\([^)]*{_FETCH}.*"
    rf"|{_FETCH}.*(&&|;).*\b({_SHELL}\s|chmod\s|\./).*|\b{_SHELL}\s+-[ce]\b.*(https?:|url|exec|eval|fetch|request).*"
    rf"|\b(iex|invoke-expression)\b.*({_FETCH}|downloadstring).*|(^|[|&;`(]|\$ |# )\s*(sudo|doas|runas)\s+\S.*"
    r"|\bbase64\s+(-d|-D|--decode)\b.*\|.*|\bgit\s+clone\s+\S.*"
    r"|\b(npx|bunx|pnpx|uvx|pipx\s+run|uv\s+tool\s+run|(pnpm|yarn)\s+dlx|npm\s+(exec|create|init)|bun\s+x|deno\s+run"
    rf"|(docker|podman)\s+run|go\s+run)\s+\S.*|{_INSTALL}[^\s`.,;)].*",
    re.IGNORECASE,
)
"""Commands that run what they download, or run as root."""
_PACKAGES = r"(?P<packages>[\w@./:=\[\]^~<>! -]+)"
_INSTALLS = re.compile(rf"{_INSTALL}{_PACKAGES}", re.IGNORECASE)
"""A command that does no more than install packages by their names."""
_TOLD = re.compile(rf"(?:^|`|[$>] )[ \t]*{_INSTALL}{_PACKAGES}(?=`|$)", re.IGNORECASE | re.MULTILINE)
"""The same where a document tells it as a command."""
_REGISTRIES = {"pipx": "pip", "pnpm": "npm", "yarn": "npm", "bun": "npm"}
_VERSION = re.compile(r"(?<=.)(\[[\w,-]+\])?([@=<>~!^]{1,2}[\w.*^~-]+)?$")
_FILE = re.compile(r"[\s/=>]([\w-][\w.-]*)")
_RUN_FILE = re.compile(
    rf"(\b{_SHELL}\s+|\bchmod\s+\S+\s+|\bsource\s+|\./)(\S{{0,200}}/)?(?P<file>[\w-][\w.-]*)", re.IGNORECASE
)
_LONGEST = 2000  # characters of a line that is looked at as one
_CONTINUED = re.compile(r"\\\r?\n\s*|(?<=[|&;])[ \t]*\r?\n\s*(?:[>$#] )?")
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`]+|[\w.+-]+@[\w-]+(\.[\w-]+)+", re.IGNORECASE)


def find_impact(path: str, base: str | None, head: str) -> Impact:
    """The impact of a change of a document: ``behaviour`` if it adds what acts when it is shown, pasted or written to.

    What stood in the document before may stay, and move; only what is new counts.

    :param base: its text before; None for a new file.
    """
    before, after = Counter(_list_acts(path, base or "")), Counter(_list_acts(path, head))
    is_acting = any(not _installs_known(act, base or "") for act in after - before)
    return Impact.behaviour if is_acting or _changes_licence(path, base, head) else Impact.document


def _installs_known(act: str, base: str) -> bool:
    """Whether a command only installs what the document named before, in such a command or as the path of a module."""
    told, _, rest = act.partition("`")
    command = _INSTALLS.fullmatch(told.rstrip(".,;) "))
    if command is None or not all(_installs_known(each, base) for each in _find(_PASTED, rest)):
        return False
    installed = {name for each in _TOLD.finditer(base) for name in _list_packages(each)}
    return all(name in installed or _is_named_module(name, base) for name in _list_packages(command))


def _list_packages(command: re.Match[str]) -> list[str]:
    """What a command names after its verb, without versions and behind whose registry it is for."""
    manager = re.sub(r"[\d.]+$", "", command["manager"].lower())
    words = command["packages"].split()
    return [f"{_REGISTRIES.get(manager, manager)} {_VERSION.sub('', word)}" for word in words]


def _is_named_module(name: str, base: str) -> bool:
    """Whether a text names the repository of a Go module, such as ``host/owner/name`` of ``host/owner/name/cmd/a``."""
    parts = name.removeprefix("go ").split("/")
    if not name.startswith("go ") or len(parts) < 3 or "." not in parts[0]:
        return False
    return re.search(rf"(?<![\w.-]){re.escape('/'.join(parts[:3]))}(?![\w.-])", base) is not None


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
    if path.lower().endswith((".md", ".markdown")):
        yield from _list_markdown_acts(text)
    else:
        yield from _find(_ACTIVE, text)
        yield from _find(_SCHEME, unescape(text))
    for line in text.split("\n"):
        yield from _find(_RAW, line)
    yield from _list_commands(_CONTINUED.sub(" ", text).split("\n"))
    if tells_terms(path) and _tells_where(path):
        yield from (each[0].rstrip(".,;:") for each in _ADDRESS.finditer(text))


def _find(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (" ".join(each[0].split()) for each in pattern.finditer(text))


def _list_commands(lines: Sequence[str]) -> Iterator[str]:
    """The commands that run what they, or a line before, download."""
    fetched: set[str] = set()
    for line in lines:
        is_fetching = re.search(_FETCH, line, re.IGNORECASE) is not None
        if is_fetching and len(line) > _LONGEST:
            yield line
        for start in range(0, max(len(line), 1), _LONGEST):
            yield from _find(_PASTED, line[start : start + _LONGEST])
        fetched.update(_FILE.findall(line) if is_fetching else ())
        yield from (run[0] for run in _RUN_FILE.finditer(line) if run["file"] in fetched)


def _list_markdown_acts(text: str) -> Iterator[str]:
    """What acts outside of fences and code spans; what other readers of Markdown may take for more than code counts."""
    for token in _MARKDOWN.parse(text):
        parts = [token, *(token.children or ())]
        if any(part.level >= _NESTING - 10 for part in parts):
            yield f"nested {token.content}"
        for part in parts:
            if part.type in {"html_block", "html_inline"}:
                yield from _list_tags(part.content)
            elif part.type == "code_block":
                yield from _find(_ACTIVE, part.content)
        shown = "".join(part.content or "\n" for part in parts[1:] if part.type != "code_inline")
        yield from _find(_ACTIVE, shown)  # no tag for CommonMark, but for browsers behind other readers
        targets = [str(value) for part in parts for value in part.attrs.values()]
        markup = [part.content for part in parts if part.type == "html_block"]
        for each in (shown, *targets, *markup):
            yield from _find(_SCHEME, re.sub(r"[\t\r\n]+(?=[^\s]*:)", "", unescape(each)))


def _list_tags(markup: str) -> Iterator[str]:
    """The tags of raw HTML that are not harmless, and what else acts in it."""
    for tag in _TAG.finditer(markup):
        if tag["name"].lower() not in _HARMLESS:
            yield " ".join(tag[0].split())
    yield from (" ".join(each[0].split()) for each in re.finditer(rf"{_HANDLER}[^>]*", markup, re.IGNORECASE))
    yield from _find(_ACTIVE, markup)
