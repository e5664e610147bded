"""Tells what Forge can see of a repository by the names of its files and its manifests: languages, linters, tests."""

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from agents.review.checks.patterns import detect_kind
from agents.review.checks.workflows import is_workflow
from agents.syntax.languages import DATA, find_language
from agents.testing.command_detection import detect
from agents.testing.runners.runner import list_needed
from domain.config.configuration import Configuration
from domain.github.installations import RepositoryOverview
from domain.review.reading import CHECKS, DOCKERFILES, WORKFLOWS
from workspace.diff import is_vendored
from workspace.mirror import Mirror

_MOST_LANGUAGES = 6
_NAMES = {
    "csharp": "C#",
    "cpp": "C++",
    "javascript": "JavaScript",
    "php": "PHP",
    "bash": "shell",
    "tsx": "TypeScript",
    "typescript": "TypeScript",
}
_CONFIGURES = {
    "eslint": ("eslint.config.", ".eslintrc"),
    "biome": ("biome.json",),
    "stylelint": ("stylelint.config.", ".stylelintrc"),
    "rubocop": (".rubocop.yml",),
    "golangci-lint": (".golangci.",),
    "phpstan": ("phpstan.neon",),
    "clippy": ("clippy.toml", ".clippy.toml"),
    "detekt": ("detekt.yml",),
    "checkstyle": ("checkstyle.xml",),
    "pylint": (".pylintrc",),
    "flake8": (".flake8",),
}
"""Linters that Forge does not run by itself, by the beginnings of the names of their files."""


async def look_at_repository(mirror: Mirror, branch: str, configuration: Configuration) -> RepositoryOverview:
    """What can be seen at the head of the default branch; nothing if it has no commit.

    :param branch: its name.
    :raises CodeAccessError: the code cannot be fetched.
    """
    commit = await mirror.fetch_default()
    if commit is None:
        return RepositoryOverview(branch=branch)
    listed = await mirror.list_files(commit)
    paths = [path for path in listed if not is_vendored(path, listed)]
    known = set(paths)
    contents = await mirror.read(commit, list_needed(known))
    manifests = {path: content.decode(errors="replace") for path, content in contents.items()}
    return describe_files(paths, manifests, branch, configuration)


def describe_files(
    paths: Collection[str], manifests: Mapping[str, str], branch: str, configuration: Configuration
) -> RepositoryOverview:
    """What the names of files and the manifests (path → text) tell."""
    languages = _count_languages(paths)
    own = tuple(linter.name for linter in configuration.review.linters)
    return RepositoryOverview(
        languages=tuple(name for name, _ in languages.most_common(_MOST_LANGUAGES)),
        linters=(*_list_checks(paths, languages), *own),
        idle_linters={name: path for name, path in _find_idle(paths).items() if name not in own},
        tests=detect(paths, manifests, configuration.commands, "").reason,
        branch=branch,
    )


def _count_languages(paths: Collection[str]) -> Counter[str]:
    found = (find_language(path) for path in paths)
    return Counter(_NAMES.get(name, name.capitalize()) for name in found if name is not None and name not in DATA)


def _list_checks(paths: Collection[str], languages: Collection[str]) -> list[str]:
    kinds = {*languages}
    kinds |= {DOCKERFILES} if any(detect_kind(path, b"") == "docker" for path in paths) else set()
    kinds |= {WORKFLOWS} if any(is_workflow(path) for path in paths) else set()
    return [check.name for check in CHECKS.values() if not kinds.isdisjoint(check.welcomed_for)]


def _find_idle(paths: Collection[str]) -> dict[str, str]:
    """Linters of the repository that are not Forge's: name → their file nearest to the top."""
    found: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        name = PurePosixPath(path).name
        for linter, starts in _CONFIGURES.items():
            if name.startswith(starts):
                found.setdefault(linter, path)
    return found
