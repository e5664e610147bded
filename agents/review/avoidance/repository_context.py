"""What surrounds a change in its repository: which tests run, which code is its own, and what its tests use."""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agents.review.avoidance.facts import ChoiceFact
from agents.review.avoidance.nearby_tests import TestReader, build_test_reader
from agents.review.avoidance.selection import find_choices
from domain.paths import is_source
from domain.review.changes import Change
from workspace.objects import Code

SETTINGS = (
    "**/{pytest.ini,tox.ini,setup.cfg,pyproject.toml,noxfile.py,conftest.py,package.json,composer.json,Cargo.toml}",
    "**/{phpunit*.xml,phpunit*.xml.dist,pom.xml,build.gradle,build.gradle.kts,.rspec,spec_helper.rb,rails_helper.rb,*.gemspec}",
    "**/{jest,vitest,vite,playwright,mocha,karma,ava}.{config,conf}.*",
    "**/{.mocharc*,*.runsettings,*.csproj,Directory.Build.props,Makefile,justfile,Justfile,Rakefile,Taskfile.yml}",
    ".github/workflows/*.{yml,yaml}",
    "{.gitlab-ci.yml,.travis.yml,azure-pipelines.yml,.circleci/config.yml,Jenkinsfile,.cargo/config.toml,go.mod}",
    "{*.sh,bin/*,ci/*.sh,script/*,scripts/*.sh,tools/*.sh}",
)
"""Where a repository says which tests run, as globs."""
MOST_SETTINGS = 80
"""Files of them that are read."""


@dataclass(frozen=True)
class RepositoryContext:
    """What surrounds a change in its repository, as far as it tells of the tests.

    :param choices: of the files that the change leaves as they are.
    :param packages: the names by which its own code is imported.
    :param is_known: whether anybody looked.
    :param read_tests: is asked where only tests that did not change can tell what a table is for.
    :param tested: literals of those tests; empty until they are read.
    """

    choices: tuple[ChoiceFact, ...] = ()
    packages: frozenset[str] = frozenset()
    is_known: bool = False
    read_tests: TestReader | None = None
    tested: frozenset[str] = frozenset()


UNKNOWN = RepositoryContext()


async def look_around(code: Code, change: Change) -> RepositoryContext:
    """What surrounds a change: its settings as they are at its head, and the tests as they were before it."""
    return await load_context(code, change.paths, change.merge_base, change.head_sha)


async def load_context(code: Code, changed: Collection[str], base: str, head: str) -> RepositoryContext:
    """What surrounds a change; unknown if it is of no source.

    :param changed: the paths of the change, which tell for themselves.
    :param base: the commit whose tests are read, if they are needed.
    :param head: the commit whose settings are read.
    """
    if not any(map(is_source, changed)):
        return UNKNOWN
    settings = await code.read_matching(head, SETTINGS, MOST_SETTINGS)
    around = {path: content for path, content in settings.items() if path not in changed}
    own = {
        name for path, content in settings.items() for name in _find_own_names(path, content.decode(errors="replace"))
    }
    read = await asyncio.to_thread(read_settings, around, {*await code.packages(head), *own})
    return replace(read, read_tests=build_test_reader(code, changed, base))


def read_settings(settings: Mapping[str, bytes], packages: Collection[str] = ()) -> RepositoryContext:
    """What the settings of a repository say of its tests.

    :param settings: path → content, of the files that :data:`SETTINGS` matches.
    :param packages: the names by which its own code is imported, as far as its manifests do not say so.
    """
    texts = {path: content.decode(errors="replace") for path, content in settings.items()}
    choices = (choice for path, text in texts.items() for choice in find_choices(path, text))
    named = (name for path, text in texts.items() for name in _find_own_names(path, text))
    return RepositoryContext(tuple(dict.fromkeys(choices)), frozenset([*packages, *named]), is_known=True)


_NAMED = re.compile(r"^[ \t]*(?:\w+\.)?[\"']?name[\"']?[ \t]*[:=][ \t]*[\"']([\w@./-]+)[\"']", re.MULTILINE)


def _find_own_names(path: str, text: str) -> Iterator[str]:
    """The names of the package that a manifest describes, as code imports it."""
    if PurePosixPath(path).name in {"pyproject.toml", "Cargo.toml"} or path.endswith(".gemspec"):
        yield from (name.replace("-", "_") for name in _NAMED.findall(text)[:1])
