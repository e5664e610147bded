"""Fixes findings: with the fixes that they have, and with what an agent makes of the others, in one change."""

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from domain.review.findings import Finding
from domain.review.identity import find_again
from domain.review.review import RiskLevel
from domain.runs.next_step import SendBack
from domain.runs.patches import ChangeSet, Worked
from domain.runs.plan import Estimate, Plan, PlannedRisk, RatedPlan, Task
from domain.runs.run import Phase
from messages import fixes as texts
from messages.fixes import FixOutcome, FixState
from messages.instructions import explain_end
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.draft_commits import BuiltChange, DraftCommits, FinishedTask
from pipeline.issue.implementation import Implementation
from pipeline.issue.instruction.draft_tests import DraftTests, TestedDraft
from pipeline.issue.instruction.goal import FixGoal
from pipeline.issue.instruction.work import InstructionWork, Made
from pipeline.issue.status_comment import RunEnd
from pipeline.verdicts.threads import settle_gone
from safety.autofix import apply_all
from workspace.patches.tree import load_tree

_ANYWHERE = ("**",)
_MOST_FILES = 30  # that a task names


@dataclass(frozen=True)
class FixWork(InstructionWork):
    """The work on findings: they are the plan, and an agent gets them as it gets what a review sends back."""

    @property
    def tests(self) -> DraftTests:
        return DraftTests(self.context, self.start.configuration, self._goal.findings)

    @property
    def _goal(self) -> FixGoal:
        goal = self.start.brief.goal
        assert goal is not None  # it is the work on one
        return goal

    async def _make_plan(self) -> RatedPlan:
        return await self._keep_plan(_plan(self._goal))

    def _is_small(self, plan: Plan) -> bool:
        return True  # whoever asks for it has seen the findings

    async def _implement(self, commits: DraftCommits, implementation: Implementation) -> Made | RunEnd:
        goal = self._goal
        begun = await run_outside_journal(self._apply_known, commits.planned.plan.plan)
        built = await implementation.fix(begun, self._send_back(begun.tip), ()) if goal.written else begun
        ended = built.ended
        if ended is not None:
            if not goal.known:
                return ended
            built = begun
        built, tested = await self._test(built, implementation)
        if ended is None and (gone := self._list_gone(built)):
            await self.context.journal.step("settle what is gone", settle_gone, self.context, gone)
        return await asyncio.to_thread(self._describe, commits, built, tested, ended)

    async def _apply_known(self, plan: Plan) -> BuiltChange:
        """What an agent goes on from: the commit of the fixes that are known."""
        head, mirror = self.start.head, await self.context.fetch_mirror()
        paths = list(dict.fromkeys(each.path for each in self._goal.known))
        tree = await load_tree(mirror, head, paths)
        change = tree.replace({path: self._fix_known(path, tree.read(path)) for path in paths})
        worked = Worked(summary="What is left of it is listed under `to fix`.", is_done=True)
        begun = BuiltChange(head, finished=(FinishedTask(plan.tasks[0], worked),))
        if not change.files:
            return begun
        tip = await mirror.commit_change(head, change, f"{plan.title}\n", *await self.context.load_stamp())
        return replace(begun, tip=tip, before=(head,), given=change)

    def _fix_known(self, path: str, content: bytes) -> bytes:
        fixes = [each.fix for each in self._goal.known if each.path == path and each.fix is not None]
        return apply_all(dict.fromkeys(fixes), content)

    def _send_back(self, tip: str) -> SendBack:
        to_fix = tuple(map(self.tests.demand, self._goal.written))
        return SendBack(phase=Phase.review, head=tip, to_fix=to_fix, is_of_agent=False)

    async def _test(self, built: BuiltChange, implementation: Implementation) -> tuple[BuiltChange, TestedDraft]:
        """What is made with its tests; what fails because of it is mended once, where an agent may."""
        if built.tip == self.start.head:
            return built, TestedDraft(title="")
        tested = await self.tests.run(built.tip)
        if not tested.to_fix or not self.start.configuration.review.may_ask_model:
            return built, tested
        earlier = [self._send_back(self.start.head)] if built.fixes else []
        mended = await implementation.fix(built, tested.send_back(built.tip), earlier)
        return (built, tested) if mended.ended is not None else (mended, await self.tests.run(mended.tip))

    def _describe(self, commits: DraftCommits, built: BuiltChange, tested: TestedDraft, ended: RunEnd | None) -> Made:
        """:param ended: why no agent fixed the others, if so."""
        goal = self._goal
        worked = built.fixes[0] if goal.written and ended is None else None
        every = (
            *(FixOutcome(each, FixState.fixed) for each in goal.known),
            *(self._weigh_written(each, built, worked, ended) for each in goal.written),
            *goal.left,
        )
        outcomes = sorted(every, key=lambda each: each.finding.sort_key)
        fixed = tuple(each.finding for each in outcomes if each.state is FixState.fixed)
        said, plan = "" if worked is None else worked.summary, commits.planned.plan.plan
        title = texts.name_change(fixed) if fixed else texts.name_part(goal.written)
        return Made(
            plan=plan.model_copy(update={"title": title}),
            change=built.all,
            summary=texts.summarise(outcomes, said),
            tested=tested,
            granted=commits.granted,
            left="" if worked is None else worked.not_done,
            details=partial(texts.render_table, outcomes),
            count=texts.count_states(outcomes),
            is_told=len(outcomes) > 1 or outcomes[0].state is not FixState.left,
            fixed={each.fingerprint: each.id for each in fixed},
            log=" ".join([*map(texts.name_place, fixed), said]),
        )

    def _weigh_written(
        self, finding: Finding, built: BuiltChange, worked: Worked | None, ended: RunEnd | None
    ) -> FixOutcome:
        """What became of a finding that an agent was to fix."""
        if ended is not None:
            return FixOutcome(finding, FixState.left, texts.explain_ended(explain_end(ended.reason, ended.why)))
        if finding.fingerprint in self._list_gone(built):
            return FixOutcome(finding, FixState.done, texts.explain_gone(self.start.head))
        is_aged = finding.fingerprint in self._goal.aged
        if worked is not None and is_aged and finding.id in worked.gone and not _changes_lines(built.all, finding):
            return FixOutcome(finding, FixState.unconfirmed, texts.UNCONFIRMED)
        if worked is None or worked.not_done or not built.whole.files:
            return FixOutcome(finding, FixState.left, texts.UNWRITTEN)
        if finding.id in worked.gone and not _changes_lines(built.all, finding):  # a known fix beside it may do so
            return FixOutcome(finding, FixState.left, texts.UNWRITTEN)
        return FixOutcome(finding, FixState.fixed)

    def _list_gone(self, built: BuiltChange) -> dict[str, str]:
        """Fingerprint → id of the findings that an agent found mended already, of those that may be.

        What blocks is none of them: the agent has read words of the author, and a review has not.
        """
        said = built.fixes[0].gone if self._goal.written and built.fixes else ()
        written = {each.fingerprint: each.id for each in self._goal.written if not each.blocks}
        return {aged: written[aged] for aged in self._goal.aged if written.get(aged) in said}


def _changes_lines(change: ChangeSet, finding: Finding) -> bool:
    """Whether the statement of a finding is not in its file any more."""
    file = next((each for each in change.files if each.path == finding.path), None)
    return file is not None and find_again(finding, (file.after or b"").decode(errors="replace").split("\n")) is None


def _plan(goal: FixGoal) -> Plan:
    """The findings as a plan; agents may look for their cause anywhere."""
    title = texts.name_goal(goal.findings)
    work = texts.name_work([each.id for each in goal.findings])
    paths = tuple(dict.fromkeys(each.path for each in goal.findings))[:_MOST_FILES]
    done = "None of them is found any more, and the tests that show them pass."
    return Plan(
        title=title,
        summary=work,
        tasks=(Task(id="T1", title=title, description=work, files=paths, acceptance=done),),
        risk=PlannedRisk(level=RiskLevel.low),
        estimate=Estimate(lines=0, minutes=0),
        allowed_areas=_ANYWHERE,
    )
