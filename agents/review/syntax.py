"""Asks the warm workers what the syntax of changed files says: their impact, what surrounds changes, and what would
break it."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from agents.review.checks.inputs import CheckedFile, list_checked_files
from agents.review.checks.worker_pool import WorkerBudget, run_each
from agents.syntax.languages import DATA, find_language
from agents.toolbox import Toolbox
from domain.paths import is_document
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding
from domain.review.reading import Impact, Outline
from safety import autofix
from safety.containment import CodeOrigin

Request = dict[str, JsonValue]
_LARGEST = 500_000  # characters of a file whose suggestions are tried


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
    answers = await _ask(files, "impact", _build_request, toolbox, origin)
    return {path: Impact(str(answer)) for path, answer in answers.items()}


async def outline_files(
    change: Change, versions: Mapping[str, FileVersions], toolbox: Toolbox, origin: CodeOrigin
) -> dict[str, Outline]:
    """Path at head → what surrounds the changed lines, of every file that could be parsed.

    :param versions: path at head → both versions of the changed files.
    """
    files = [file for file in list_checked_files(change, versions) if has_functions(file)]
    answers = await _ask(files, "outline", build_outline_request, toolbox, origin)
    return {path: Outline.model_validate(answer) for path, answer in answers.items()}


async def _ask(
    files: Sequence[CheckedFile],
    job: str,
    request: Callable[[CheckedFile], Request],
    toolbox: Toolbox,
    origin: CodeOrigin,
) -> dict[str, JsonValue]:
    """The answers by path; a file that takes too long has none, and Forge then knows less about it."""
    if not files or toolbox.for_worker("syntax trees", origin=origin).level is None:
        return {}
    shift = WorkerBudget(toolbox.pool, toolbox.seconds)
    answers, _ = await run_each(files, request, lambda file: file.path, job, shift)
    return {file.path: answer for file, answer in answers}


def _is_text_for_people(file: CheckedFile) -> bool:
    """Whether it is a document, and was one."""
    return is_document(file.path) and is_document(file.change.old_path or file.path)


def _is_comparable(file: CheckedFile) -> bool:
    """Whether it kept its name and mode, and Forge parses its language."""
    change = file.change
    is_alike = change.old_mode == change.new_mode
    is_here = change.old_path in (None, change.path)
    return is_alike and is_here and _is_parsable(file) and file.is_as_python_reads_it


def has_functions(file: CheckedFile) -> bool:
    """Whether a file can be outlined."""
    return _is_parsable(file) and find_language(file.path) not in DATA


def _is_parsable(file: CheckedFile) -> bool:
    return find_language(file.path) is not None and all(map(is_utf8, (file.base or b"", file.head)))


def is_utf8(content: bytes) -> bool:
    """Whether a content is text in UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _build_request(file: CheckedFile) -> Request:
    base = None if file.base is None else file.base.decode(errors="replace")
    head = file.head.decode(errors="replace")
    return {"path": file.path, "language": find_language(file.path), "base": base, "head": head}


def build_outline_request(file: CheckedFile) -> Request:
    """What the worker's job ``outline`` is asked about a file."""
    numbered = [line for hunk in file.change.hunks for line in hunk.number_lines()]
    removed: list[JsonValue] = [old for old, new, _ in numbered if old is not None and new is None]
    return {**_build_request(file), "added": [*file.change.changed_lines], "removed": removed}


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

    def request(path: str) -> JsonValue:
        changed = [finding.fix for finding in fit if finding.path == path and finding.fix is not None]
        return {
            "path": path,
            "before": texts[path],
            "after": list(dict.fromkeys(autofix.apply(fix, texts[path]) for fix in changed)),
        }

    small = [path for path in asked if len(texts[path]) <= _LARGEST]
    answers, _ = await run_each(
        small, request, lambda path: path, "broken by", WorkerBudget(toolbox.pool, toolbox.seconds)
    )
    broken = {(path, str(text)) for path, answer in answers if isinstance(answer, list) for text in answer}
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
