"""Asks the warm workers what the syntax of changed files says, and which code of other files concerns a change."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from agents.review.checks.inputs import CheckedFile, is_test_or_document, is_utf8, list_checked_files
from agents.review.model.related import RelatedCode, find_related
from agents.syntax.impact import assess
from agents.syntax.languages import DATA, find_language
from agents.syntax.outline import outline_file
from agents.syntax.structures import STRUCTURED
from agents.syntax.symbols.changes import CONSTRUCTORS, ChangedSource, list_wanted
from agents.syntax.symbols.imports import MANIFESTS
from agents.syntax.symbols.places import FOLLOWED
from agents.syntax.symbols.uses import Reference, Surrounding, find_references
from agents.syntax.validity import find_broken
from agents.toolbox import Toolbox
from domain.paths import is_document
from domain.review.changes import Change, ContentKind, FileChange, FileVersions
from domain.review.findings import Finding
from domain.review.reading import Impact, Outline
from domain.text.redaction import redact_outgoing
from safety import autofix
from safety.containment import CodeOrigin
from workspace.code_search import NearCode, search_near
from workspace.objects import Objects

_LARGEST = 500_000  # characters of a file whose suggestions are tried

Result = TypeVar("Result")


def build_changes(
    change: Change, versions: Mapping[str, FileVersions], withheld: Mapping[str, Collection[int]]
) -> list[ChangedSource]:
    """What the workers are told of the changed files whose names are followed.

    A line that must be masked, or stands beside what must be, names nothing: journals keep the names.

    :param versions: path at head → both versions of the changed files.
    :param withheld: path → lines with credentials.
    """
    found = ((file, versions[file.path]) for file in change.files if file.path in versions)
    return [
        _describe_change(file, both, withheld.get(file.path, ()))
        for file, both in found
        if file.kind is ContentKind.text and find_language(file.path) in FOLLOWED and _is_readable(both)
    ]


def _is_readable(both: FileVersions) -> bool:
    return all(map(is_utf8, (both.base or b"", both.head or b""))) and (both.base or both.head) is not None


def _describe_change(file: FileChange, both: FileVersions, withheld: Collection[int]) -> ChangedSource:
    numbered = [line for hunk in file.hunks for line in hunk.number_lines()]
    shown = frozenset(redact_outgoing("\n".join(text for _, new, text in numbered if new not in withheld)).split("\n"))
    open_ = [(old, new) for old, new, text in numbered if text in shown and new not in withheld]
    return ChangedSource(
        path=file.path,
        old_path=file.old_path or file.path,
        language=find_language(file.path) or "",
        base=None if both.base is None else both.base.decode(),
        head=None if both.head is None else both.head.decode(),
        added=[new for old, new in open_ if old is None and new is not None],
        removed=[old for old, new in open_ if new is None and old is not None],
    )


async def find_wanted(changes: Sequence[ChangedSource], toolbox: Toolbox, origin: CodeOrigin) -> list[tuple[str, ...]]:
    """What to look for in other files: each is some words that a file must all hold.

    :param changes: of :func:`build_changes`.
    """
    return await _run_one(partial(list_wanted, changes), toolbox, origin) or [] if changes else []


async def find_related_code(
    changes: Sequence[ChangedSource], near: NearCode, toolbox: Toolbox, origin: CodeOrigin
) -> tuple[RelatedCode, ...]:
    """The code of other files that concerns a change; nothing if that takes too long."""
    job = partial(find_related, changes, read_surrounding(near))
    return await _run_one(job, toolbox, origin) or () if near.holders else ()


async def find_references_to(
    code: Objects, commit: str, path: str, name: str, toolbox: Toolbox, origin: CodeOrigin
) -> list[Reference] | None:
    """The references to a name that a file of a commit defines; None if nobody may parse it, or that takes too long.

    :raises CodeAccessError: the code cannot be read.
    """
    text = (await code.read(commit, [path])).get(path, b"")
    last = name.rpartition(".")[2]
    owners = [(each,) for each in name.split(".")[:-1][-1:]] if last in CONSTRUCTORS else []
    near = await search_near(code, commit, [path], [(last,), *owners], MANIFESTS)
    ranked = sorted(near.holders, key=is_test_or_document)
    near = replace(near, holders={each: near.holders[each] for each in ranked})
    language, decoded = find_language(path) or "", text.decode(errors="replace")
    job = partial(find_references, path, language, decoded, name, read_surrounding(near))
    return await _run_one(job, toolbox, origin)


def read_surrounding(near: NearCode) -> Surrounding:
    """The code around a change as text; what is none is left out."""
    return Surrounding(
        texts={path: content.decode() for path, content in near.holders.items() if is_utf8(content)},
        paths=near.paths,
        manifests={path: content.decode(errors="replace") for path, content in near.manifests.items()},
    )


async def _run_one(job: partial[Result], toolbox: Toolbox, origin: CodeOrigin) -> Result | None:
    """What a worker answers; None if nobody may parse the code, or that takes too long."""
    if toolbox.for_worker("syntax trees", origin=origin).level is None:
        return None
    answers, _ = await toolbox.run_jobs([job], lambda each: each, lambda _: "syntax trees")
    return answers[0][1] if answers else None


async def find_impacts(
    change: Change,
    versions: Mapping[str, FileVersions],
    toolbox: Toolbox,
    origin: CodeOrigin,
) -> dict[str, Impact]:
    """Path at head → the impact, of every source and every document that could be compared; of no other.

    :param versions: path at head → both versions of the changed files.
    """
    checked = list_checked_files(change, versions)
    files = [file for file in checked if _is_text_for_people(file) or _is_comparable(file)]
    return await _run(files, _assess, toolbox, origin)


def _assess(file: CheckedFile) -> partial[Impact]:
    return partial(assess, file.path, find_language(file.path), *_read_sides(file))


async def outline_files(
    change: Change, versions: Mapping[str, FileVersions], toolbox: Toolbox, origin: CodeOrigin
) -> dict[str, Outline]:
    """Path at head → what surrounds the changed lines, of every file that could be parsed.

    :param versions: path at head → both versions of the changed files.
    """
    files = [file for file in list_checked_files(change, versions) if has_functions(file)]
    return await _run(files, build_outline, toolbox, origin)


async def _run(
    files: Sequence[CheckedFile],
    job: Callable[[CheckedFile], partial[Result]],
    toolbox: Toolbox,
    origin: CodeOrigin,
) -> dict[str, Result]:
    """The answers by path; a file that takes too long has none, and Forge then knows less about it."""
    if not files or toolbox.for_worker("syntax trees", origin=origin).level is None:
        return {}
    answers, _ = await toolbox.run_jobs(files, job, lambda file: file.path)
    return {file.path: answer for file, answer in answers}


def _is_text_for_people(file: CheckedFile) -> bool:
    """Whether it is a document, and was one."""
    return is_document(file.path) and is_document(file.change.old_path or file.path)


def _is_comparable(file: CheckedFile) -> bool:
    """Whether it kept its name and mode, and Forge parses its language."""
    change = file.change
    is_alike = change.old_mode == change.new_mode
    is_here = change.old_path in (None, change.path)
    is_known = _is_parsable(file) or (file.path.lower().endswith(STRUCTURED) and _is_text(file))
    return is_alike and is_here and is_known and file.is_as_python_reads_it


def has_functions(file: CheckedFile) -> bool:
    """Whether a file can be outlined."""
    return _is_parsable(file) and find_language(file.path) not in DATA


def _is_parsable(file: CheckedFile) -> bool:
    return find_language(file.path) is not None and _is_text(file)


def _is_text(file: CheckedFile) -> bool:
    return all(map(is_utf8, (file.base or b"", file.head)))


def _read_sides(file: CheckedFile) -> tuple[str | None, str]:
    base = None if file.base is None else file.base.decode(errors="replace")
    return base, file.head.decode(errors="replace")


def build_outline(file: CheckedFile) -> partial[Outline]:
    """What outlines a file that :func:`has_functions`."""
    numbered = [line for hunk in file.change.hunks for line in hunk.number_lines()]
    removed = [old for old, new, _ in numbered if old is not None and new is None]
    language = find_language(file.path) or ""
    return partial(outline_file, language, *_read_sides(file), [*file.change.changed_lines], removed)


async def drop_unfit(
    findings: Sequence[Finding], versions: Mapping[str, FileVersions], toolbox: Toolbox, origin: CodeOrigin
) -> tuple[Finding, ...]:
    """The findings; those whose suggestion would do harm have none any more, whoever made it.

    A file that nobody may parse keeps its suggestions: then they were not made by looking at its syntax either.

    :param versions: path at head → both versions of the changed files.
    """
    texts = {path: (each.head or b"").decode(errors="replace") for path, each in versions.items()}
    lines = {path: text.split("\n") for path, text in texts.items()}
    fit = [_keep_fit(finding, lines.get(finding.path, ())) for finding in findings]
    asked = sorted({finding.path for finding in fit if finding.fix is not None and finding.path in texts})
    if not asked or toolbox.for_worker("syntax trees", origin=origin).level is None:
        return tuple(fit)

    def find_broken_by_fixes(path: str) -> partial[list[str]]:
        fixes = [finding.fix for finding in fit if finding.path == path and finding.fix is not None]
        after = dict.fromkeys(autofix.apply(fix, texts[path]) for fix in fixes)
        return partial(find_broken, path, texts[path], list(after))

    small = [path for path in asked if len(texts[path]) <= _LARGEST]
    answers, _ = await toolbox.run_jobs(small, find_broken_by_fixes, lambda path: path)
    broken = {(path, text) for path, answer in answers for text in answer}
    return tuple(
        _without_fix(finding)
        if finding.fix is not None and (finding.path, autofix.apply(finding.fix, texts[finding.path])) in broken
        else finding
        for finding in fit
    )


def _keep_fit(finding: Finding, lines: Sequence[str]) -> Finding:
    is_fit = finding.fix is None or autofix.is_fit(finding.fix, lines)
    return finding if is_fit else _without_fix(finding)


def _without_fix(finding: Finding) -> Finding:
    return finding.model_copy(update={"fix": None})
