"""Reads a repository's files of conventions from one commit, which is never one of a pull request."""

from collections.abc import Collection, Sequence

from agents.prompts.conventions.choice import NOTHING_WRITTEN, WrittenConventions
from agents.prompts.conventions.texts import find_home, parse
from domain.config.review import ReviewSettings
from domain.globs import matches
from domain.review.changes import SkippedFile
from domain.text.redaction import Redact
from workspace.git import TooLarge
from workspace.objects import Objects

_MOST_FILES = 100
_NOT_SENT = "not sent to a model (review.never_send)"
_NOT_TEXT = "it is not in UTF-8"
_TOO_LARGE = "it has a megabyte or more"
_TOO_MANY = f"there are {_MOST_FILES} nearer ones, which is the most that is read"


async def read_conventions(
    code: Objects, commit: str, paths: Collection[str], review: ReviewSettings, redact: Redact
) -> WrittenConventions:
    """The conventions that a commit holds, as far as `review.instructions` names them.

    :param commit: of the default branch, so that a change of them counts once it is merged.
    :param paths: files that they may be about, beside the whole repository.
    :param redact: removes credentials from a text.
    :raises CodeAccessError: the commit cannot be read.
    """
    if not review.instructions:
        return NOTHING_WRITTEN
    try:
        named = [path for path in await code.list_files(commit) if matches(path, review.instructions)]
        near = _sort([path for path in named if _may_cover(path, paths)], review)
        sendable = [path for path in near if not matches(path, review.never_send)]
        contents = await code.read(commit, sendable[:_MOST_FILES])
    except TooLarge:
        return WrittenConventions(problem="The repository has too many files to look for conventions.")
    parsed = {path: parse(path, content, redact) for path, content in contents.items()}
    texts = {path: text for path, text in parsed.items() if text is not None}
    reasons = dict.fromkeys(near, _NOT_SENT)
    reasons |= dict.fromkeys(sendable, _TOO_MANY) | dict.fromkeys(sendable[:_MOST_FILES], _TOO_LARGE)
    reasons |= dict.fromkeys(parsed, _NOT_TEXT)
    return WrittenConventions(
        texts=tuple(texts[path] for path in near if path in texts),
        elsewhere=tuple(sorted(set(named).difference(near))),
        left_out=tuple(SkippedFile(path=path, reason=reasons[path]) for path in near if path not in texts),
    )


def _may_cover(path: str, paths: Collection[str]) -> bool:
    """Whether a file of conventions is about a folder with one of these paths, or about all folders."""
    home = find_home(path)
    return not home or any(each.startswith(home) for each in paths)


def _sort(paths: Sequence[str], review: ReviewSettings) -> list[str]:
    """The nearest first: those about the deepest folders; then in the order in which the configuration names them."""

    def rank(path: str) -> tuple[int, int, str]:
        order = next(index for index, glob in enumerate(review.instructions) if matches(path, (glob,)))
        return -find_home(path).count("/"), order, path

    return sorted(paths, key=rank)
