"""Writes what a command such as ``/forge tests`` asks for: its words, what it may change, what has to be known."""

import structlog

from agents.coding.changelogs import SETTINGS, find_changelog
from agents.coding.planner import Excerpt
from agents.llm.models import ModelTier, Unusable
from agents.prompts import load_prompt
from agents.testing.coverage import wants_tests
from domain.config.configuration import Configuration
from domain.errors import Forbidden
from domain.globs import matches
from domain.review.changes import Change, ChangeStatus
from domain.runs.testing import DiffCoverage, measure_diff_coverage
from domain.slash import AskFix, Mend, TakeBaseIn, WriteChangelog, WriteTests
from domain.value import Value
from messages import fixes as fix_texts
from messages import instructions as texts
from messages.tests import format_ranges
from pipeline.checkout import find_base
from pipeline.issue.head_examination import BaseCoverages
from pipeline.issue.instruction.goal import FixGoal, find_goal
from pipeline.issue.red_checks import RedChecks, load_red_checks
from pipeline.publishing.instructions import InstructingCommand
from pipeline.run_context import RunContext, run_while_current
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

log = structlog.get_logger(__name__)

TESTS = (
    *("**/tests/**", "**/test/**", "**/spec/**", "**/__tests__/**", "**/conftest.py"),
    *("**/test_*", "**/*_test.*", "**/*.test.*", "**/*-test.*", "**/*_spec.*", "**/*.spec.*", "**/*-spec.*"),
)
"""Where tests may be written: what :func:`domain.paths.is_test` calls a test, as globs."""
_HEAD = 60  # lines of a changelog that are shown
_MOST_FILES = 50
_LONGEST_DIFF = 8_000  # bytes; of a longer change the planner reads the files


class Brief(Value):
    """What a command asks for that has no words of its own; in journals.

    :param words: for the planner; empty where whoever asked wrote them.
    :param obstacle: why nothing is done, as an answer; empty if something is.
    :param areas: globs of all that may change; empty for anything.
    :param shown: what has to be known of the repository.
    :param merge_base: the commit without the change, of tests that have to fail there; empty for anything else.
    :param red: what fails, where that is to be mended.
    :param goal: the findings to fix; None for anything else.
    :param coverage: of the lines that the change adds; None if it is not known.
    """

    words: str = ""
    obstacle: str = ""
    areas: tuple[str, ...] = ()
    shown: tuple[Excerpt, ...] = ()
    merge_base: str = ""
    coverage: DiffCoverage | None = None
    red: RedChecks | None = None
    goal: FixGoal | None = None


async def write_brief(
    context: RunContext, configuration: Configuration, asked: InstructingCommand, mirror: Mirror, change: Change
) -> Brief:
    """What a command asks for, with what the pull request changes.

    :param mirror: has the commits of ``change``, which is that of the pull request.
    """
    if isinstance(asked, TakeBaseIn):
        return Brief()  # no planner is asked
    brief = await _write(context, configuration, asked, mirror, change)
    sent = [path for path in change.paths if not matches(path, configuration.review.never_send)]
    if brief.obstacle or not sent:
        return brief
    diff = await mirror.render_patch(change.merge_base, change.head_sha, _LONGEST_DIFF, sent)
    shown = [Excerpt(heading="what the pull request changes", text=diff, by=())] if diff else []
    return brief.model_copy(update={"shown": (*brief.shown, *shown)})


async def _write(
    context: RunContext, configuration: Configuration, asked: InstructingCommand, mirror: Mirror, change: Change
) -> Brief:
    match asked:
        case WriteChangelog():
            return await _write_for_changelog(configuration, mirror, change)
        case WriteTests():
            return await _write_for_tests(context, configuration, asked, mirror, change)
        case Mend():
            return await _write_for_mending(context, change)
        case AskFix():
            return await _write_for_fixing(context, configuration, asked, mirror, change)
        case _:
            return await _write_for_words(context, change)


async def _write_for_mending(context: RunContext, change: Change) -> Brief:
    red = await _load_red_checks(context, change)
    if not red.own:
        return Brief(obstacle=texts.report_nothing_to_mend(red.before))
    return Brief(words=load_prompt("do_mend"), shown=_show_red(red), red=red)


async def _write_for_words(context: RunContext, change: Change) -> Brief:
    """What is red, as people often speak of it."""
    try:
        return Brief(shown=_show_red(await _load_red_checks(context, change)))
    except Forbidden as error:  # an installation that did not accept to show them
        log.warning("red_checks.hidden", run=context.run.id, error=str(error))
        return Brief()


async def _load_red_checks(context: RunContext, change: Change) -> RedChecks:
    services, repository = context.services, context.run.repository
    live = await services.host.pull_request(repository, context.run.number)
    bases = (change.merge_base, await find_base(services.host, repository, live))
    return await load_red_checks(services, repository, change.head_sha, *bases)


def _show_red(red: RedChecks) -> tuple[Excerpt, ...]:
    return tuple(Excerpt(heading=f"red check {each.name}", text=each.said, by=each.by) for each in red.own)


async def _write_for_fixing(
    context: RunContext, configuration: Configuration, asked: AskFix, mirror: Mirror, change: Change
) -> Brief:
    goal = await find_goal(context, configuration, asked, mirror, change)
    if isinstance(goal, str):
        return Brief(obstacle=goal)
    return Brief(words=fix_texts.name_work([each.id for each in goal.findings]), goal=goal)


async def _write_for_changelog(configuration: Configuration, mirror: Mirror, change: Change) -> Brief:
    head, never = change.head_sha, configuration.review.never_send
    paths = [path for path in (await Snapshot.of(mirror, head)).files if not matches(path, never)]
    settings = {path: text.decode(errors="replace") for path, text in (await mirror.read(head, SETTINGS)).items()}
    found = find_changelog(paths, settings)
    if found is None:
        return Brief(obstacle=texts.NO_CHANGELOG)
    examples = await mirror.read(head, found.examples)
    heading = f"the changelog: {found.kind} {found.path}"
    shown = [Excerpt(heading=heading, text=f"Allowed: {', '.join(found.areas)}", by=())]
    for path, text in examples.items():
        lines = text.decode(errors="replace").split("\n")[:_HEAD]
        shown.append(Excerpt(heading=f"the beginning of {path}", text="\n".join(lines), by=()))
    return Brief(words=load_prompt("do_changelog"), areas=found.areas, shown=tuple(shown))


async def _write_for_tests(
    context: RunContext, configuration: Configuration, asked: WriteTests, mirror: Mirror, change: Change
) -> Brief:
    if configuration.testing.runner == "actions":
        return Brief(obstacle=texts.UNPROVABLE)
    if asked.path is not None and asked.path not in change.paths:
        return Brief(obstacle=texts.refuse_foreign_path(asked.path))
    there = [file.path for file in change.files if file.status is not ChangeStatus.deleted]
    sources = [path for path in there if wants_tests(path) and asked.path in {None, path}]
    if not sources:
        return Brief(obstacle=texts.NO_SOURCE)
    coverage = None
    if not isinstance(context.services.models.choose(ModelTier.strong), Unusable):
        coverage = await measure_change(context, configuration, mirror, change)
    untested = {} if coverage is None else {path: coverage.uncovered.get(path, ()) for path in sources}
    if coverage is not None and not any(untested.values()) and not {*sources} & {*coverage.unmeasured}:
        return Brief(obstacle=texts.report_all_tested(coverage.covered, coverage.total))
    rows = [f"{path}: {format_ranges(untested.get(path, ()))}".rstrip(": ") for path in sources[:_MOST_FILES]]
    heading = "files to test" if coverage is None else "files to test, with the added lines that no test runs"
    return Brief(
        words=load_prompt("do_tests"),
        areas=TESTS,
        shown=(Excerpt(heading=heading, text="\n".join(rows), by=()),),
        merge_base=change.merge_base,
        coverage=coverage,
    )


async def measure_change(
    context: RunContext, configuration: Configuration, mirror: Mirror, change: Change, commit: str = ""
) -> DiffCoverage | None:
    """How much of what a change adds tests run; None if they leave no report of that.

    :param change: of which the mirror has the commits.
    :param commit: whose tests are meant, and which has the same lines; empty for the head of the change.
    """
    known, at = BaseCoverages(context, configuration), commit or change.head_sha
    measured = await known.find(at)
    if measured is None:
        measured = await run_while_current(context.services, context.run, known.measure(mirror, at))
    if measured.coverage is None:
        return None
    return measure_diff_coverage(measured.coverage, {file.path: frozenset(file.added_lines) for file in change.files})
