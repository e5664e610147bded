"""Runs the earlier tests of a change on its code, and those that fail there on the code they were written for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.testing.earlier_tests.choice import (
    Entry,
    OverlayChoice,
    choose,
    find_unknown,
    find_users,
    is_mixed,
    is_of_tests,
    is_script,
)
from agents.testing.earlier_tests.evidence import Collector
from agents.testing.earlier_tests.gone import add_removed
from agents.testing.earlier_tests.manifests import restore_settings
from agents.testing.earlier_tests.outcomes import SharedChange, sort_by_weight
from agents.testing.earlier_tests.reading import Reader
from agents.testing.earlier_tests.running import BaseRunKeeper, FileRunner, Runners, Sides
from agents.testing.earlier_tests.unaware import blind_programs
from agents.testing.earlier_tests.whole import WholeCommand, find_lack
from agents.testing.tester import CommandTimeouts, Tester
from agents.toolbox import Toolbox
from domain.errors import CodeAccessError, ToolError
from domain.paths import is_source
from domain.review.changes import Change
from domain.runs.earlier_tests import MOST_TOLD, NOTHING_EARLIER, EarlierOutcome, EarlierTest, EarlierTests
from workspace.commits import write_blob, write_tree
from workspace.mirror import Mirror


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


async def run_earlier_tests(
    tester: Tester, change: Change, bounds: EarlierBounds = BOUNDS, keeper: BaseRunKeeper | None = None
) -> EarlierTests:
    """Run the tests as they were at the merge base on the program as it is at head.

    Raises no errors: the result says what could not be run.

    :param change: of commits that the tester's mirror has.
    :param keeper: keeps what is run at its merge base; None: nobody does.
    """
    timeouts = CommandTimeouts(command=min(tester.bounds.command, bounds.seconds))
    runner = FileRunner(replace(tester, bounds=timeouts, baseline=None), bounds.seconds)
    try:
        said = await _compare(tester, runner, change, bounds, keeper)
        return await add_removed(said, Reader(tester.mirror, tester.toolbox), change, runner.seen)
    except (CodeAccessError, ToolError) as error:
        return EarlierTests(not_run=(_UNABLE.format(error)[:1_000],), seconds=runner.seconds)


async def name_removed(mirror: Mirror, toolbox: Toolbox, change: Change, why: str) -> EarlierTests:
    """The tests that a change removes, where none is run.

    :param why: nothing is run, one sentence.
    """
    return await add_removed(EarlierTests(not_run=(why,)), Reader(mirror, toolbox), change)


async def _compare(
    tester: Tester, runner: FileRunner, change: Change, bounds: EarlierBounds, keeper: BaseRunKeeper | None
) -> EarlierTests:
    reader = Reader(tester.mirror, tester.toolbox)
    old, new = change.merge_base, change.head_sha
    base, head = await reader.list_files(old), await reader.list_files(new)
    before = await Runners.of(reader, old, base)
    choice = choose(base, head, before.has)
    old_parts = await restore_mixed(tester, reader, (old, base), (new, head))
    scripts = await reader.list_scripts((old, base), (new, head))
    deselecting = [each for each in scripts if each.deselects]
    blind, asking = await blind_programs(tester.mirror.git, reader, (old, base), (new, head), old_parts)
    telling = (*deselecting, *asking)
    files, left_out = await _choose_files(reader, old, choice, old_parts, telling, base, before, bounds)
    now = await Runners.of(reader, new, head)
    has_runner = any(map(before.has, filter(is_of_tests, base)))
    unknown = find_unknown(
        choice, lambda path: before.has(path) or now.has(path) or before.leaves_out(path), has_runner=has_runner
    )
    overlay = {**choice.overlay, **old_parts, **blind}
    tree = await write_tree(tester.mirror.git, new, overlay)
    is_same = tree == await tester.mirror.tree_of(old)  # only tests differ: they end on the same program as before
    if is_same or not (files or unknown):
        return EarlierTests(lacks=await find_lack(reader, tester.commands, new, head))
    moved = {each.old_path: each.path for each in change.touched if each.old_path is not None}
    new_parts = await restore_mixed(tester, reader, (new, head), (old, base))
    underlay = {**{path: head.get(path) for path in choice.overlay}, **new_parts}
    sides = Sides(old, new, base, head, tree, overlay, underlay, moved, before, now, asking)
    tests, not_run = await _run_files(tester, runner, reader, sides, files, keeper) if files else ([], [])
    whole = await WholeCommand(tester, runner, reader, sides).ask(unknown) if unknown else NOTHING_EARLIER
    told = [each for each in tests if each.outcome is not EarlierOutcome.holds]
    holding, told = len(tests) - len(told), sort_by_weight([*told, *whole.tests])
    known = sum(each.outcome is not EarlierOutcome.unknown for each in told)  # of the others it is said why
    return EarlierTests(
        tests=tuple(told[:MOST_TOLD]),
        holding=holding,
        left_out=left_out,
        untold=max(0, known - MOST_TOLD),
        not_run=tuple(dict.fromkeys((*not_run, *whole.not_run))),
        seconds=runner.seconds,
    )


async def _run_files(
    tester: Tester,
    runner: FileRunner,
    reader: Reader,
    sides: Sides,
    files: Sequence[str],
    keeper: BaseRunKeeper | None,
) -> tuple[list[EarlierTest], list[str]]:
    """What each test of some files of before comes to, and why some could not be run."""
    await tester.tell("Running the earlier tests on the new code")
    first = await runner.run(sides.tree, files, sides.runners)
    if not first.has_begun:
        return [], [_UNABLE.format(first.not_run[0])[:1_000]]
    collector = Collector(tester, runner, reader, sides, files, first, keeper)
    return await collector.collect(), collector.not_run


async def restore_mixed(
    tester: Tester, reader: Reader, kept: tuple[str, Mapping[str, Entry]], other: tuple[str, Mapping[str, Entry]]
) -> dict[str, Entry | None]:
    """The files of one commit of which a part is of the tests, with that part as another commit has it.

    :param kept: the commit whose tests are kept, and its files; :param other: the commit of the program.
    """
    (commit, tests), (program, files) = kept, other
    touched = [path for path in files if path in tests and tests[path] != files[path] and is_mixed(path)]
    theirs, texts = await reader.read(commit, touched), await reader.read(program, touched)
    entries: dict[str, Entry | None] = {}
    for path in theirs.keys() & texts.keys():
        text = restore_settings(path, theirs[path], texts[path])
        if text != texts[path]:
            entries[path] = (files[path][0], await write_blob(tester.mirror.git, text.encode()))
    return entries


async def _choose_files(
    reader: Reader,
    commit: str,
    choice: OverlayChoice,
    mixed: Mapping[str, Entry | None],
    telling: Sequence[SharedChange],
    base: Mapping[str, Entry],
    runners: Runners,
    bounds: EarlierBounds,
) -> tuple[list[str], int]:
    """The files to run, and how many tests are in those that are left out.

    :param telling: how scripts differ that leave tests out now, and the program that asks whether a test runs it.
    """
    wanted = [*choice.touched, *(path for path in mixed if path.endswith(".rs"))]
    shared = [*choice.shared, *(path for path in mixed if not path.endswith(".rs"))]
    held = await reader.find_versions(await reader.read(commit, choice.touched))
    shared += [path for path in choice.touched if not held.get(path)]  # a helper that is named as tests are
    users: list[str] = []
    if shared or telling:
        helpers = [path for path in base if is_of_tests(path) and is_source(path) and not runners.has(path)]
        others = [*(path for path in base if runners.has(path) and path not in set(wanted)), *helpers]
        texts = await reader.read(commit, others)
        named = [path for path, text in texts.items() if any(each.names(path, text) for each in telling)]
        asking = [each.path for each in telling if not is_script(each.path)]
        all_of_them = texts if asking else ()
        found = dict.fromkeys((*named, *find_users(shared, texts), *find_users(asking, texts), *all_of_them))
        users = [path for path in found if runners.has(path)]
    rest = [*wanted[bounds.files :], *users[bounds.users :]]
    left = await reader.find_versions(await reader.read(commit, rest))
    return [*wanted[: bounds.files], *users[: bounds.users]], sum(map(len, left.values()))
