"""Runs the earlier tests of a change on its code, and those that fail there on the code they were written for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agents.testing.earlier_tests.choice import Entry, OverlayChoice, choose, find_users
from agents.testing.earlier_tests.evidence import Collector, Sides
from agents.testing.earlier_tests.manifests import is_mixed, restore_settings
from agents.testing.earlier_tests.outcomes import sort_by_weight
from agents.testing.earlier_tests.reading import Reader
from agents.testing.earlier_tests.removed import add_removed
from agents.testing.earlier_tests.running import FileRunner, Runners
from agents.testing.tester import CommandTimeouts, Tester
from domain.errors import CodeAccessError, ToolError
from domain.review.changes import Change
from domain.runs.earlier_tests import MOST_TOLD, NOTHING_EARLIER, EarlierOutcome, EarlierTests
from workspace.commits import write_blob, write_tree


@dataclass(frozen=True)
class EarlierBounds:
    """How much is run.

    :param files: of tests, the most telling first.
    :param users: of them, at most, such as only use what the change touches.
    :param seconds: for one command, and of all before the last one begins.
    """

    files: int = 60
    users: int = 30
    seconds: float = 600.0


BOUNDS = EarlierBounds()
_UNABLE = "The tests of before could not be run on the new code: {}"


async def run_earlier_tests(tester: Tester, change: Change, bounds: EarlierBounds = BOUNDS) -> EarlierTests:
    """Run the tests as they were at the merge base on the program as it is at head.

    Raises no errors: the result says what could not be run.

    :param change: of commits that the tester's mirror has.
    """
    timeouts = CommandTimeouts(command=min(tester.bounds.command, bounds.seconds))
    runner = FileRunner(replace(tester, bounds=timeouts, baseline=None), bounds.seconds)
    try:
        said = await _compare(tester, runner, change, bounds)
        return await add_removed(said, Reader(tester.mirror, tester.toolbox), change, runner.seen)
    except (CodeAccessError, ToolError) as error:
        return EarlierTests(not_run=(_UNABLE.format(error)[:1_000],), seconds=runner.seconds)


async def name_removed(tester: Tester, change: Change, said: EarlierTests) -> EarlierTests:
    """What is said where nothing runs, with the tests that the change removes."""
    return await add_removed(said, Reader(tester.mirror, tester.toolbox), change)


async def _compare(tester: Tester, runner: FileRunner, change: Change, bounds: EarlierBounds) -> EarlierTests:
    reader = Reader(tester.mirror, tester.toolbox)
    old, new = change.merge_base, change.head_sha
    base, head = await reader.list_files(old), await reader.list_files(new)
    before = await Runners.of(reader, old, base)
    choice = choose(base, head, before.has)
    mixed = await _restore_mixed(tester, reader, change, base, head)
    files, left_out = await _choose_files(reader, old, choice, mixed, base, before, bounds)
    if not files:
        return NOTHING_EARLIER
    overlay = {**choice.overlay, **mixed}
    tree = await write_tree(tester.mirror.git, new, overlay)
    await tester.tell("Running the earlier tests on the new code")
    first = await runner.run(tree, files, before)
    if not first.has_begun:
        return EarlierTests(not_run=(_UNABLE.format(first.not_run[0])[:1_000],), seconds=runner.seconds)
    moved = {each.old_path: each.path for each in change.touched if each.old_path is not None}
    sides = Sides(old, new, base, head, tree, overlay, moved, before, await Runners.of(reader, new, head))
    collector = Collector(tester, runner, reader, sides, files, first)
    tests = await collector.collect()
    told = sort_by_weight([each for each in tests if each.outcome is not EarlierOutcome.holds])
    return EarlierTests(
        tests=tuple(told[:MOST_TOLD]),
        holding=len(tests) - len(told),
        left_out=left_out + max(0, len(told) - MOST_TOLD),
        not_run=tuple(dict.fromkeys(collector.not_run)),
        seconds=runner.seconds,
    )


async def _restore_mixed(
    tester: Tester, reader: Reader, change: Change, base: Mapping[str, Entry], head: Mapping[str, Entry]
) -> dict[str, Entry | None]:
    """The files of head of which a part is of the tests, with that part as it was before."""
    touched = [path for path in head if path in base and base[path] != head[path] and is_mixed(path)]
    old, new = await reader.read(change.merge_base, touched), await reader.read(change.head_sha, touched)
    entries: dict[str, Entry | None] = {}
    for path in old.keys() & new.keys():
        text = restore_settings(path, old[path], new[path])
        if text != new[path]:
            entries[path] = (head[path][0], await write_blob(tester.mirror.git, text.encode()))
    return entries


async def _choose_files(
    reader: Reader,
    commit: str,
    choice: OverlayChoice,
    mixed: Mapping[str, Entry | None],
    base: Mapping[str, Entry],
    runners: Runners,
    bounds: EarlierBounds,
) -> tuple[list[str], int]:
    """The files to run, and how many tests are in those that are left out."""
    wanted = [*choice.touched, *(path for path in mixed if path.endswith(".rs"))]
    shared = [*choice.shared, *(path for path in mixed if not path.endswith(".rs"))]
    users: list[str] = []
    if shared:
        others = [path for path in base if runners.has(path) and path not in set(wanted)]
        users = find_users(shared, await reader.read(commit, others))
    rest = [*wanted[bounds.files :], *users[bounds.users :]]
    found = await reader.find_versions(await reader.read(commit, rest))
    return [*wanted[: bounds.files], *users[: bounds.users]], sum(map(len, found.values()))
