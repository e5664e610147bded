"""Shows a model the cells of a changed notebook in place of the JSON that holds them.

Jupyter writes each line of a cell on a line of the file, so each is shown as itself under that number, where GitHub
takes a comment. What a notebook holds beside its cells, above all outputs, is left out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from domain.review.changes import Change, FileChange, FileVersions, Hunk

_SUFFIX = ".ipynb"
_KIND = re.compile(r'\s*"cell_type": "(\w+)",?')
_SOURCE = re.compile(r'\s*"source": \[')
_END = re.compile(r"\s*\],?")
_MARKS = {"code": "# %%", "markdown": "# %% [markdown]", "raw": "# %% [raw]"}
"""How a cell begins where notebooks are kept as programs (the percent format)."""


def is_notebook(path: str) -> bool:
    return path.endswith(_SUFFIX)


def show_cells(change: Change, versions: Mapping[str, FileVersions]) -> tuple[Change, dict[str, FileVersions]]:
    """The change, and both versions of its files, with the cells of notebooks in place of their JSON.

    A notebook that is written in another way than Jupyter does it, or of which no cell changed, stays as it is.
    """
    files, contents = list[FileChange](), dict(versions)
    for file in change.files:
        version = versions.get(file.path)
        shown = None if version is None or not is_notebook(file.path) else _show(file, version)
        if shown is None:
            files.append(file)
        else:
            files.append(file.model_copy(update={"hunks": shown[0]}))
            contents[file.path] = shown[1]
    return change.model_copy(update={"files": tuple(files)}), contents


def _show(file: FileChange, version: FileVersions) -> tuple[tuple[Hunk, ...], FileVersions] | None:
    """The hunks and both versions of a notebook; None if no cell of it changed."""
    before, after = _read_cells(version.base), _read_cells(version.head)
    if before is None or after is None:
        return None
    hunks = tuple(part for hunk in file.hunks for part in _cut(hunk, before, after))
    if not any(line[:1] in {"+", "-"} for hunk in hunks for line in hunk.lines):
        return None
    shown = FileVersions(
        base=None if version.base is None else _join(version.base, before),
        head=None if version.head is None else _join(version.head, after),
    )
    return hunks, shown


def _read_cells(content: bytes | None) -> dict[int, str] | None:
    """The lines that begin a cell or are a part of one; None if these are not all that it runs.

    It may be written in another way: a cell on one line, or a key twice.
    """
    lines = _split(content)
    sources = dict(_list_sources(lines))
    if content is not None and "\n".join(sources.values()) != _parse_sources(content):
        return None
    marks = ((number, _KIND.fullmatch(line)) for number, line in enumerate(lines, 1))
    return {number: _MARKS.get(kind[1], "# %%") for number, kind in marks if kind is not None} | sources


def _parse_sources(content: bytes) -> str | None:
    """The code and the text of all cells, as Jupyter reads them."""
    try:
        texts: list[str] = ["".join(cell["source"]) for cell in json.loads(content)["cells"]]
        return "\n".join(filter(None, texts))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _list_sources(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(lines, 1):
        if inside and _END.fullmatch(line):
            inside = False
        elif inside and (text := _read(line)) is not None:
            yield number, text
        inside = inside or _SOURCE.fullmatch(line) is not None


def _read(line: str) -> str | None:
    """A line of source, of the JSON that holds it; None if it is none, or several."""
    try:
        text = json.loads(line.strip().removesuffix(","))
    except ValueError:
        return None
    return text.removesuffix("\n") if isinstance(text, str) and "\n" not in text.removesuffix("\n") else None


def _cut(hunk: Hunk, before: Mapping[int, str], after: Mapping[int, str]) -> Iterator[Hunk]:
    """The parts of a hunk that are lines of cells; each a hunk of its own, so that numbers stay."""
    run: list[tuple[int, int, str]] = []
    old, new = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        sign = line[:1]
        text = before.get(old) if sign == "-" else after.get(new)
        if text is not None:
            run.append((old, new, f"{sign}{text}"))
        elif run:
            yield _build(run)
            run = []
        old, new = old + (sign != "+"), new + (sign != "-")
    if run:
        yield _build(run)


def _build(run: Sequence[tuple[int, int, str]]) -> Hunk:
    lines = tuple(line for _, _, line in run)
    removed, added = sum(line[:1] != "+" for line in lines), sum(line[:1] != "-" for line in lines)
    return Hunk(  # git names the line before where a side has none
        old_start=run[0][0] - (removed == 0),
        old_length=removed,
        new_start=run[0][1] - (added == 0),
        new_length=added,
        lines=lines,
    )


def _split(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").split("\n")


def _join(content: bytes, cells: Mapping[int, str]) -> bytes:
    """As many lines as there were; empty where there is no cell."""
    return "\n".join(cells.get(number, "") for number, _ in enumerate(_split(content), 1)).encode()
