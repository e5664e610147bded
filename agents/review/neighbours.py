"""Asks the warm workers which code of other files concerns a change, or refers to a name."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from pydantic import JsonValue

from agents.review.checks.inputs import is_test_or_document
from agents.review.checks.worker_pool import WorkerBudget, run_each
from agents.review.model.related import RelatedCode
from agents.review.syntax import is_utf8
from agents.syntax.languages import find_language
from agents.syntax.symbols.changes import CONSTRUCTORS
from agents.syntax.symbols.grammars import GRAMMARS
from agents.syntax.symbols.modules import MANIFESTS
from agents.syntax.symbols.references import Reference
from agents.toolbox import Toolbox
from domain.review.changes import Change, ContentKind, FileChange, FileVersions
from domain.text.redaction import redact_outgoing
from safety.containment import CodeOrigin
from workspace.code_search import NearCode, search_near
from workspace.objects import Objects

Request = dict[str, JsonValue]


def build_changes(
    change: Change, versions: Mapping[str, FileVersions], withheld: Mapping[str, Collection[int]]
) -> list[JsonValue]:
    """What the workers are told of the changed files whose names are followed.

    A line that must be masked, or stands beside what must be, names nothing: journals keep the names.

    :param versions: path at head → both versions of the changed files.
    :param withheld: path → lines with credentials.
    """
    found = ((file, versions[file.path]) for file in change.files if file.path in versions)
    return [
        _describe(file, both, withheld.get(file.path, ()))
        for file, both in found
        if file.kind is ContentKind.text and find_language(file.path) in GRAMMARS and _is_readable(both)
    ]


def _is_readable(both: FileVersions) -> bool:
    return all(map(is_utf8, (both.base or b"", both.head or b""))) and (both.base or both.head) is not None


def _describe(file: FileChange, both: FileVersions, withheld: Collection[int]) -> Request:
    numbered = [line for hunk in file.hunks for line in hunk.number_lines()]
    shown = frozenset(redact_outgoing("\n".join(text for _, new, text in numbered if new not in withheld)).split("\n"))
    open_ = [(old, new) for old, new, text in numbered if text in shown and new not in withheld]
    added: list[JsonValue] = [new for old, new in open_ if old is None]
    removed: list[JsonValue] = [old for old, new in open_ if new is None]
    return {
        "path": file.path,
        "old_path": file.old_path or file.path,
        "language": find_language(file.path),
        "base": None if both.base is None else both.base.decode(),
        "head": None if both.head is None else both.head.decode(),
        "added": added,
        "removed": removed,
    }


async def find_wanted(changes: list[JsonValue], toolbox: Toolbox, origin: CodeOrigin) -> list[tuple[str, ...]]:
    """What to look for in other files: each is some words that a file must all hold.

    :param changes: of :func:`build_changes`.
    """
    answer = await _ask("wanted names", {"changes": changes}, toolbox, origin) if changes else None
    return [tuple(map(str, words)) for words in answer if isinstance(words, list)] if isinstance(answer, list) else []


async def find_related(
    changes: list[JsonValue], near: NearCode, toolbox: Toolbox, origin: CodeOrigin
) -> tuple[RelatedCode, ...]:
    """The code of other files that concerns a change; nothing if that takes too long."""
    answer = await _ask("related code", build_search(changes, near), toolbox, origin) if near.holders else None
    return tuple(RelatedCode.from_json(each) for each in answer) if isinstance(answer, list) else ()


def build_search(changes: list[JsonValue], near: NearCode) -> Request:
    """What the worker's job ``related code`` is asked."""
    return {"changes": changes, **_describe_code(near)}


async def find_references(
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
    asked: Request = {"path": path, "language": find_language(path), "text": text.decode(errors="replace")}
    answer = await _ask("references", {**asked, "name": name, **_describe_code(near)}, toolbox, origin)
    return [_to_reference(each) for each in answer if isinstance(each, dict)] if isinstance(answer, list) else None


def _to_reference(told: Request) -> Reference:
    return Reference(str(told["path"]), int(str(told["line"])), str(told["what"]))


def _describe_code(near: NearCode) -> Request:
    return {
        "texts": {path: content.decode() for path, content in near.holders.items() if is_utf8(content)},
        "paths": list(near.paths),
        "manifests": {path: content.decode(errors="replace") for path, content in near.manifests.items()},
    }


async def _ask(job: str, request: Request, toolbox: Toolbox, origin: CodeOrigin) -> JsonValue:
    if toolbox.for_worker("syntax trees", origin=origin).level is None:
        return None
    shift = WorkerBudget(toolbox.pool, toolbox.seconds)
    answers, _ = await run_each([request], lambda each: each, lambda _: job, job, shift)
    return answers[0][1] if answers else None
