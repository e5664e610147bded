"""The table of test runners, in the order in which they are asked whether a file is theirs."""

from collections.abc import Callable, Iterator

from agents.testing.runners.compiled import find_cargo, find_dotnet, find_go, find_gradle, find_maven
from agents.testing.runners.facts import RepositoryFacts
from agents.testing.runners.node import list_node_runners
from agents.testing.runners.python import find_pytest, find_unittest
from agents.testing.runners.runner import Runner
from agents.testing.runners.scripts import find_bats, find_minitest, find_phpunit, find_rspec

_FIND: tuple[Callable[[RepositoryFacts], Runner | None], ...] = (
    lambda facts: find_pytest(facts) or find_unittest(facts),
    find_go,
    find_cargo,
    lambda facts: find_maven(facts) or find_gradle(facts),
    find_dotnet,
    find_rspec,
    find_minitest,
    find_phpunit,
    find_bats,
)


def list_runners(facts: RepositoryFacts) -> tuple[Runner, ...]:
    """The runners that a repository has, as far as its files tell."""
    return tuple(_list(facts))


def choose_runner(path: str, facts: RepositoryFacts) -> Runner | None:
    """The runner that takes tests from a file; None if it is no file of tests, or its runner is not known."""
    return next((runner for runner in _list(facts) if runner.owns(path)), None)


def _list(facts: RepositoryFacts) -> Iterator[Runner]:
    for find in _FIND:
        runner = find(facts)
        if runner is not None:
            yield runner
    yield from list_node_runners(facts)
