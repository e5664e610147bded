"""Layer 2 for every text file and new name: what readers cannot see or take for something else ("Trojan Source")."""

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence, Set
from functools import partial

from agents.review.checks.inputs import (
    MOST_TAKEN_IN,
    TOO_MANY,
    CheckedFile,
    ToolReport,
    build_security_finding,
    is_test_or_document,
)
from agents.syntax.hidden_text import find_hidden_text
from agents.toolbox import Toolbox
from domain.paths import holds_prose, is_document, runs_as_text
from domain.review.changes import Change, ChangeStatus, FileChange
from domain.review.findings import RawFinding, Severity
from domain.text.escaping import strip_invisible
from domain.text.hidden_characters import (
    Deception,
    FileWords,
    HiddenText,
    find_alike,
    find_invisible,
    find_turned,
    find_unseen,
    fold_alike,
    list_plain,
    may_deceive,
    read_words,
    to_plain,
)

_MOST_DOUBLES = 100
_CONTROL = re.compile(r"[\x00-\x1f\x85]")
_NEW = frozenset({ChangeStatus.added, ChangeStatus.renamed, ChangeStatus.copied})

_MESSAGES = {
    Deception.direction: (
        "{codes} here shows the line in another order than programs read it (“Trojan Source”). Remove it; "
        "in a string, write its escape sequence."
    ),
    Deception.invisible: (
        "{codes} here cannot be seen, but programs read it. Remove it; in a string, write its escape sequence."
    ),
    Deception.space: (
        "{codes} here looks like a space, but is part of a name or an error. Write a common space; in a string, any."
    ),
    Deception.private: (
        "{codes} here is a character for private use: each font shows something else, or nothing, where programs read "
        "a name. Remove it; in a string, write its escape sequence."
    ),
    Deception.control: (
        "A terminal obeys {codes} here, so that `git diff` and `cat` may show another line than this. Remove it; in a "
        "string, write its escape sequence."
    ),
    Deception.terminal: (
        "Some terminals obey {codes} here, so that `git diff` and `cat` may hide text. Write its escape sequence."
    ),
    Deception.line_end: (
        "{codes} here ends the line, the comment or the string for the compiler, though it is not shown so: what "
        "follows may be code. Break the line, or write the character itself."
    ),
    Deception.look_alike: (
        "`{text}` has letters of another script that look like Latin ones ({codes}), so it is another name than it "
        "seems. Write it in one script."
    ),
}
_HELP = "https://trojansource.codes"
_LARGEST = 1_000_000  # bytes; of a larger file only the added lines are looked at, without a parser
_LONGEST_NAME = 60


def is_for(file: CheckedFile) -> bool:
    """Whether anything on its added lines could deceive: most code is ASCII only."""
    return any(may_deceive(file.path, text) for text in file.change.added_lines.values())


async def check(files: Sequence[CheckedFile], changed: Sequence[CheckedFile], toolbox: Toolbox) -> ToolReport:
    """Look at the added lines of files.

    :param changed: all of the change, whose words others may be taken for.
    """
    job = partial(_look_at, others=await asyncio.to_thread(_find_doubles, files, changed))
    answers, problem = await toolbox.run_jobs(files, job, lambda file: file.path)
    return await asyncio.to_thread(_report, answers, len(files), problem)


def _find_doubles(files: Sequence[CheckedFile], changed: Sequence[CheckedFile]) -> Set[str]:
    """The words of the change, before and after it, that words of the added lines look like."""
    wanted = {word for file in files for word in list_plain(file.change.added_lines.values())}
    texts = ("\n".join(lines) for file in changed for lines in (file.head_lines, file.base_lines) if wanted)
    return {word for text in texts for word in wanted & read_words(text).ascii}


def _look_at(file: CheckedFile, others: Set[str]) -> partial[list[tuple[int, HiddenText]]]:
    added = file.change.added_lines
    is_whole = len(file.head) <= _LARGEST
    lines = file.head_lines
    text = file.head_text if is_whole else "\n".join(line if n in added else "" for n, line in enumerate(lines, 1))
    known = others & list_plain(added.values())
    return partial(find_hidden_text, file.path, text, list(added), is_whole=is_whole, others=known)


def _report(
    answers: Sequence[tuple[CheckedFile, Sequence[tuple[int, HiddenText]]]], files: int, problem: str | None
) -> ToolReport:
    found = [_build(file.path, line, hidden) for file, answer in answers for line, hidden in answer]
    problems = [*filter(None, [problem]), *([TOO_MANY] if len(found) > MOST_TAKEN_IN else [])]
    return ToolReport(tuple(found[:MOST_TAKEN_IN]), files=files, problem=" ".join(problems) or None)


def _build(path: str, line: int, hidden: HiddenText) -> RawFinding:
    kind = hidden.kind
    is_of_people = is_document(path) or holds_prose(path)
    is_mild = is_test_or_document(path) and not is_document(path)  # tests of such text hold it on purpose
    is_mild = is_mild or kind is Deception.terminal or (kind is Deception.control and is_of_people)
    severity = Severity.warning if is_mild else Severity.error
    message = _MESSAGES[kind].format(codes=hidden.codes, text=strip_invisible(hidden.text)[:_LONGEST_NAME])
    return build_security_finding(f"hidden-text/{kind.value}", severity, path, line, message, help_url=_HELP)


def list_doubles(change: Change) -> tuple[str, ...]:
    """The paths of ASCII letters that new ones would be taken for, the first ones."""
    plain = {fold_alike(file.path) for file in _list_odd(change)} - set(change.paths)
    return tuple(sorted(filter(str.isascii, plain))[:_MOST_DOUBLES])


def find_deceiving(change: Change, beside: Collection[str] = ()) -> tuple[RawFinding, ...]:
    """The new names that deceive, each once: by a character that cannot be seen, or by letters of another script.

    :param beside: those of :func:`list_doubles` that the merge base has.
    """
    odd = _list_odd(change)
    names = read_words("\n".join((*change.paths, *beside))).ascii if odd else frozenset[str]()
    return tuple(
        _build_name_finding(file, found)
        for file in odd
        for found in [next(_find_in_name(file, names), None)]
        if found is not None
    )


def _list_odd(change: Change) -> list[FileChange]:
    return [
        file for file in change.files if file.status in _NEW and not (file.path.isascii() and file.path.isprintable())
    ]


def _find_in_name(file: FileChange, names: frozenset[str]) -> Iterator[HiddenText]:
    """:param names: words of the names of all files in the change."""
    turned = find_turned(file.path, is_translation=True)
    yield from [turned] if turned is not None else []
    yield from find_invisible(file.path)
    yield from (
        each for each in find_unseen("", file.path) if each.kind is not Deception.space or _is_for_programs(file.path)
    )
    if control := _CONTROL.search(file.path):
        yield HiddenText(Deception.control, control.start(), control[0])
    words = find_alike(file.path, FileWords(names, scripts := _list_scripts(file), scripts))
    yield from (each for each in words if to_plain(each.text).isascii())  # else nobody takes it for a Latin one


def _is_for_programs(path: str) -> bool:
    """Whether more than people find a file by its name: these write spaces of all kinds in those of documents."""
    return not (is_document(path) or holds_prose(path))


def _list_scripts(file: FileChange) -> frozenset[str]:
    """The scripts that its name may be in: of a document, also those that it is written in."""
    text = () if runs_as_text(file.path) else tuple(file.added_lines.values())
    return read_words("\n".join((file.path, *text))).scripts


def _build_name_finding(file: FileChange, found: HiddenText) -> RawFinding:
    severity = Severity.warning if is_test_or_document(file.path) else Severity.error
    message = (
        f"The name of this file has {found.codes}, which nobody sees or takes for something else: it is another "
        "file than it seems. Write its name with letters of one script that can be seen."
    )
    line = next(iter(file.added_lines), None)
    return build_security_finding("hidden-text/name", severity, file.path, line, message, help_url=_HELP)
