"""Tests the base of an issue's run before anything is planned, and asks people where its tests show nothing."""

import asyncio

from agents.testing.failures import classify_failures
from domain.gates import GateState, digest
from domain.runs.earlier_tests import Baseline, build_baseline
from domain.runs.run import Trigger
from domain.runs.testing import TestRun, shows_nothing
from memory.runs import checkpoints
from messages import earlier_tests as baseline_texts
from pipeline.issue.head_examination import BaseCoverages
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.issue_input import IssueRunInput
from pipeline.issue.status_comment import RunEnd, end_rejected
from pipeline.run_context import RunContext, describe_place, run_while_current
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

_VERSION = 2  # of what is measured; a new one measures anew


async def establish_baseline(context: RunContext, issue: IssueRunInput) -> Baseline | RunEnd | None:
    """How the commands of the repository end on the base; how the run ends if people do not let it go on without tests.

    None where nobody asked for a change, or where the repository's own workflows test.

    :raises WaitingForGate: the tests show nothing, and nobody said yet whether to go on.
    """
    if context.run.trigger is Trigger.plan or issue.configuration.testing.runner == "actions":
        return None
    baseline = await context.journal.step("test the base", _find_or_test, context, issue)
    if baseline is None or not baseline.lacks:
        return baseline
    gate = await HelpGate(context, issue.configuration).ask_to_go_untested(baseline)
    return baseline if gate.state is GateState.approved else await end_rejected(context, gate)


async def _find_or_test(context: RunContext, issue: IssueRunInput) -> Baseline | None:
    """The baseline of the run, which every execution finds again."""
    database, run = context.database, context.run
    kept = await checkpoints.load_baseline(database, run)
    if kept is not None or await checkpoints.load_plan(database, run) is not None:
        return kept
    key = digest(_VERSION, *describe_place(context.services, issue.configuration))
    found = await checkpoints.find_baseline(database, run, key)
    if found is None or found.lacks:  # what is lacking, somebody may have mended meanwhile
        found = await run_while_current(context.services, run, _test(context, issue))
    await checkpoints.save_baseline(database, run, key, found, context.now())
    return found


async def _test(context: RunContext, issue: IssueRunInput) -> Baseline:
    mirror = await context.fetch_mirror()
    base = context.run.base_sha
    run = await context.build_tester(mirror, issue.configuration).test_base(base)
    await BaseCoverages(context, issue.configuration).keep(base, run)
    return build_baseline(base, run, await _explain_lack(mirror, base, run) if shows_nothing(run) else "")


async def _explain_lack(mirror: Mirror, base: str, run: TestRun) -> str:
    paths = (await Snapshot.of(mirror, base)).files
    return baseline_texts.explain_lack(run, await asyncio.to_thread(classify_failures, run, paths))
