"""Reads what a comparison needs of two commits: their files, the tests in them, and what the program has no more."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from agents.syntax.languages import find_language
from agents.syntax.tests import find_all
from agents.testing.earlier_tests.choice import Entry, is_of_tests, is_script
from agents.testing.earlier_tests.outcomes import SharedChange
from agents.testing.earlier_tests.texts import Version, list_versions
from agents.toolbox import Toolbox
from domain.errors import ToolError
from domain.paths import is_document, is_lock
from domain.text.line_diff import list_changes
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

_MOST_FILES = 400  # that are read of one commit for one purpose
_TOGETHER = 20  # files that a worker parses at once
_SECONDS = 30.0


class Reader:
    """Reads commits of one repository."""

    def __init__(self, mirror: Mirror, toolbox: Toolbox) -> None:
        self._mirror = mirror
        self._toolbox = toolbox

    async def list_files(self, commit: str) -> dict[str, Entry]:
        """The files of a commit: path → mode and blob."""
        files = (await Snapshot.of(self._mirror, commit)).files
        return {path: (file.mode, file.blob) for path, file in files.items() if not file.has_odd_name}

    async def read(self, commit: str, paths: Iterable[str]) -> dict[str, str]:
        """The texts of files that are there and not too large."""
        wanted = list(dict.fromkeys(paths))[:_MOST_FILES]
        contents = await self._mirror.read(commit, wanted) if wanted else {}
        return {path: content.decode(errors="replace") for path, content in contents.items()}

    async def list_scripts(
        self, old: tuple[str, Mapping[str, Entry]], new: tuple[str, Mapping[str, Entry]]
    ) -> tuple[SharedChange, ...]:
        """How the scripts differ that say which tests run.

        :param old: a commit and its files; :param new: another one.
        """
        base, head = old[1], new[1]
        paths = [path for path in {**base, **head} if is_script(path) and base.get(path) != head.get(path)]
        return list_shared_changes(await self.read(old[0], paths), await self.read(new[0], paths))

    async def find_versions(self, texts: Mapping[str, str]) -> dict[str, list[Version]]:
        """Path → the tests of a file; none of one that cannot be parsed."""
        asked = [(path, _find_language(path)) for path in texts]
        known = [(path, language) for path, language in asked if language]
        found: dict[str, list[Version]] = {}
        for start in range(0, len(known), _TOGETHER):
            part = known[start : start + _TOGETHER]
            job = partial(find_all, [(texts[path], language) for path, language in part])
            try:
                answers = await self._toolbox.pool.call(job, _SECONDS)
            except ToolError:
                continue
            for (path, _), tests in zip(part, answers, strict=False):
                found[path] = list_versions(path, texts[path], tests)
        return found

    async def keep_unused(self, commit: str, words: Collection[str]) -> list[str]:
        """The words that no file of the program has at a commit whose blobs are here."""
        if not words:
            return []
        patterns = [part for word in words for part in ("-e", word)]
        found = await self._mirror.git.run(
            *("grep", "-I", "-o", "-w", "-F", "-z", "--no-color", *patterns, commit), expect=(0, 1)
        )
        still: set[str] = set()
        for line in found.stdout.decode(errors="replace").split("\n"):
            place, _, word = line.partition("\0")
            if word and is_of_program(place.partition(":")[2]):
                still.add(word)
        return [word for word in words if word not in still]


def is_of_program(path: str) -> bool:
    """Whether a file is neither of the tests nor for people only."""
    return not (is_of_tests(path) or is_document(path) or is_lock(path))


def list_shared_changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[SharedChange, ...]:
    """How each of some files differs."""
    return tuple(_compare(path, before.get(path, ""), after.get(path, "")) for path in {**before, **after})


def _compare(path: str, before: str, after: str) -> SharedChange:
    old, new = before.split("\n"), after.split("\n")
    changes = list_changes(old, new)
    removed = [line.strip() for each in changes for line in old[each.start : each.end] if line.strip()]
    added = [line.strip() for each in changes for line in new[each.at : each.to] if line.strip()]
    return SharedChange(path, tuple(removed), tuple(added))


def _find_language(path: str) -> str | None:
    return "bats" if path.endswith(".bats") else find_language(path)
