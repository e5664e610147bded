"""The table of test runners by language, and the folders of a repository in which each of them runs.

A repository may have several parts: the manifest nearest to a file says what runs its tests, and where.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from agents.testing.runners.languages import (
    drop_measuring_of_ruby,
    find_bats,
    find_cargo,
    find_dotnet,
    find_go,
    find_gradle,
    find_maven,
    find_minitest,
    find_phpunit,
    find_rspec,
)
from agents.testing.runners.node import drop_unknown, list_node_runners
from agents.testing.runners.python import PYTHON, drop_measuring, find_pytest, find_unittest
from agents.testing.runners.runner import RepositoryFacts, Runner, is_own, is_within

Language = Literal["python", "go", "cargo", "jvm", "dotnet", "ruby", "php", "bats", "node"]
_MOST_FOLDERS = 50  # with a manifest of one language


@dataclass(frozen=True)
class Family:
    """The runners of one language.

    :param find: the runners that a folder has.
    :param manifests: names of files that may make a folder a part of its own.
    :param covers: whether the tests of a folder with such a file are also those of the folders below it.
    """

    language: Language
    find: Callable[[RepositoryFacts], Sequence[Runner | None]]
    manifests: Collection[str] = ()
    covers: Callable[[RepositoryFacts], bool] = lambda facts: False


_PYTHON = frozenset({*PYTHON, "pytest.ini"})
_JVM = frozenset({"pom.xml", "build.gradle", "build.gradle.kts"})
FAMILIES = (
    Family(
        "python",
        lambda facts: (find_pytest(facts) or find_unittest(facts),),
        _PYTHON,
        lambda facts: not facts.paths.isdisjoint(_PYTHON),
    ),
    Family("go", lambda facts: (find_go(facts),), ("go.mod",)),
    Family(
        "cargo",
        lambda facts: (find_cargo(facts),),
        ("Cargo.toml",),
        lambda facts: "[workspace" in facts.text("Cargo.toml"),
    ),
    Family(
        "jvm",
        lambda facts: (find_maven(facts) or find_gradle(facts),),
        _JVM,
        lambda facts: not facts.paths.isdisjoint(_JVM),
    ),
    Family("dotnet", lambda facts: (find_dotnet(facts),)),
    Family("ruby", lambda facts: (find_rspec(facts), find_minitest(facts)), ("Gemfile",)),
    Family(
        "php",
        lambda facts: (find_phpunit(facts),),
        ("composer.json",),
        lambda facts: "phpunit/phpunit" in facts.text("composer.json"),
    ),
    Family("bats", lambda facts: (find_bats(facts),)),
    Family(
        "node",
        list_node_runners,
        ("package.json",),
        lambda facts: facts.has_workspaces and "test" in facts.scripts,
    ),
)
"""In the order in which they are asked whether a file is theirs."""


def list_runners(facts: RepositoryFacts) -> tuple[Runner, ...]:
    """The runners that a repository has, as far as its files tell."""
    return tuple(_list(facts))


def list_parts(family: Family, known: RepositoryFacts) -> list[RepositoryFacts]:
    """The top of a repository, and the folders below that test what is in them by a manifest of their own."""
    named = (PurePosixPath(path) for path in known.paths if is_own(path, known.paths))
    found = {str(path.parent) for path in named if path.name in family.manifests} - {"."}
    folders = [""]
    for folder in sorted(found, key=lambda each: (each.count("/"), each))[:_MOST_FOLDERS]:
        above = max((each for each in folders if is_within(folder, each)), key=len)
        part = known.below(folder)
        if not family.covers(known.below(above)) and (find_runners(family, part) or "test" in part.scripts):
            folders.append(folder)
    return [
        known.below(each, [other for other in folders if other != each and is_within(other, each)]) for each in folders
    ]


def find_runners(family: Family, facts: RepositoryFacts) -> list[Runner]:
    """The runners of one language that one part of a repository has."""
    found = filter(None, family.find(facts))
    return [replace(runner, folder=facts.folder, apart=facts.apart) for runner in found]


def _list(facts: RepositoryFacts) -> Iterator[Runner]:
    for family in FAMILIES:
        for part in list_parts(family, facts):
            yield from find_runners(family, part)


def drop_refused(words: Sequence[str], printed: bytes) -> tuple[str, ...]:
    """The words of a failed command without what it refused, as far as it said so; else none."""
    drops = (drop_measuring, drop_measuring_of_ruby, drop_unknown)
    return next((left for drop in drops if (left := drop(words, printed))), ())
