"""Brings what was made of an instruction to its branch, else into a pull request or a patch; and takes it back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from domain.github.commits import PREFIX
from domain.runs.patches import NO_CHANGES
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, WorkKey
from domain.text.redaction import redact_outgoing
from domain.value import Value, shorten_id
from memory.runs import model_answers, runs, work_checkpoints
from messages import instructions as texts
from messages import updates as update_texts
from messages.pull_request import PushRule, explain_refused_push
from pipeline.automation.level import find_opening_obstacle
from pipeline.checkout import fetch_commits
from pipeline.feedback.answers.instruction import load_permitted
from pipeline.gates.authorship import list_askers
from pipeline.issue.instruction.draft_tests import TestedDraft
from pipeline.issue.instruction.kept_commits import COMMIT, KeptCommit, find_commit
from pipeline.issue.instruction.start import Start
from pipeline.publishing import pull_requests
from pipeline.publishing.instructions import COMMITTED, Instruction
from pipeline.publishing.pull_requests import NotOpened, PushResult, find_signed
from pipeline.run_context import RunContext
from workspace.conflicts import commit_merge, merge_onto
from workspace.mirror import Mirror

_MOST_PUSHES = 3
"""Pushes of others that are taken in before Forge opens a pull request instead."""


@dataclass(frozen=True)
class Proposal:
    """A change that is made.

    :param tip: its one commit, on top of the head on which the run began; ``message`` is the commit's.
    :param title: of the change; ``summary`` says what is different, untrusted.
    :param protected: the protected files that it changes, as people let it.
    :param merges: the commit of the base that it takes in; empty: none.
    :param resolved: then, files in which conflicts were resolved.
    :param details: what became of each part, in Markdown, from where the change is; None: it has none.
    :param count: how many findings became what, as a sentence; empty where it was to fix none.
    :param proof: what its new tests were shown to do, as sentences; empty where nothing had to be shown.
    :param fixed: fingerprint → id of the findings that it fixes.
    """

    tip: str
    message: str
    title: str
    summary: str
    tested: TestedDraft
    protected: tuple[str, ...] = ()
    merges: str = ""
    resolved: tuple[str, ...] = ()
    details: Callable[[str], str] | None = None
    count: str = ""
    proof: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])


class Delivered(Value):
    """Where the change is.

    :param commit: on the branch; empty if it is not there.
    :param number: of the pull request into the branch.
    :param patch: what to apply by hand; empty if it is anywhere else.
    :param why: why it is not on the branch, as a clause; alone, the change has no place any more.
    :param took_in: what others had pushed, on which it stands.
    :param tested: how its tests ended.
    """

    commit: str = ""
    number: int | None = None
    patch: str = ""
    why: str = ""
    took_in: str = ""
    tested: TestedDraft

    @property
    def where(self) -> str:
        """Where it is, in a word or two."""
        return self.commit or ("the patch below" if self.number is None else f"#{self.number}")


class Undo(Value):
    """A commit that takes another one back, on top of the head; in journals.

    :param commit: that is taken back.
    :param tip: empty if it cannot be, and ``why`` says why, as an answer.
    """

    commit: str = ""
    tip: str = ""
    title: str = ""
    message: str = ""
    why: str = ""


async def keep_commit(context: RunContext, start: Start, delivered: Delivered, proposal: Proposal) -> str:
    """Keep where a change is; the short id by which people take it back from the branch. May be repeated.

    :returns: empty if it is not on the branch.
    """
    database, run, now, commit = context.database, context.run, context.now(), delivered.commit
    made = KeptCommit(commit=commit, merges=start.base, number=delivered.number, fixed=dict(proposal.fixed))
    await model_answers.keep(database, run, COMMIT, made.model_dump(), now)
    if not commit:
        return ""
    key = WorkKey(run_id=run.id, work=COMMITTED, base=start.head)
    known = await work_checkpoints.find_newest(database, key)
    if known is None:
        details = CheckpointDetails(said=proposal.summary, spent_usd=await context.load_cost() / 1_000_000)
        done = CheckpointCause.done
        known = await work_checkpoints.add(database, key, None, done, NO_CHANGES, details, now)
    return shorten_id("C", known.id)


async def prepare_undo(context: RunContext, asked: Instruction, start: Start, trailer: str) -> Undo:
    """The commit that takes back what an earlier instruction put on the branch."""
    earlier = await runs.get(context.database, asked.undoes)
    kept = KeptCommit() if earlier is None else await find_commit(context.database, earlier)
    commit = kept.commit
    if not commit:
        return Undo(why=texts.UNCOMMITTED)
    mirror, stamp = await context.fetch_mirror(), await context.load_stamp()
    before = await mirror.first_parent(commit) if await mirror.follows(start.head, commit) else None
    if before is None:
        return Undo(why=texts.report_no_undo(commit))
    if kept.merges:
        return Undo(why=update_texts.refuse_undo(before))
    subject = (await mirror.describe(commit)).message.partition("\n")[0]
    title, message = texts.render_undo_message(commit, subject, context.run.id, trailer)
    message = redact_outgoing(message)
    without = await mirror.commit_tree(commit, await mirror.tree_of(before), message, *stamp)
    tree = await merge_onto(mirror, start.head, without)
    if tree is None or tree == await mirror.tree_of(start.head):
        return Undo(why=texts.report_no_undo(commit))
    tip = await mirror.commit_tree(start.head, tree, message, *stamp)
    return Undo(commit=commit, tip=tip, title=title, message=message)


class ChangeTests(Protocol):
    """The tests of a change."""

    async def run(self, commit: str) -> TestedDraft:
        """Run those that concern it up to a commit."""
        ...


class Way(Value):
    """Where a change may go; in journals.

    :param why: why it does not go to the branch, as a clause.
    """

    kind: Literal["branch", "pull_request", "patch", "nowhere"]
    why: str = ""


class TakenIn(Value):
    """A change on top of what others pushed meanwhile; in journals.

    :param tip: its commit; empty if it cannot be put there, and ``why`` says why, as a clause.
    :param head: what is on the branch now; empty if there is none to put it on.
    :param is_over: the change has no place any more.
    """

    head: str = ""
    tip: str = ""
    why: str = ""
    is_over: bool = False


class Opened(Value):
    """A pull request into the branch; in journals.

    :param number: None if there is none, and ``why`` says why, as a clause.
    """

    number: int | None = None
    why: str = ""


@dataclass(frozen=True)
class Delivery:
    """The delivery of one change. Every step may be repeated: the same change makes the same commit.

    :param context: of the run, whose head is the one on which the change was made.
    """

    context: RunContext
    asked: Instruction
    start: Start
    proposal: Proposal
    tests: ChangeTests

    async def deliver(self) -> Delivered | None:
        """Where the change is now; None if whoever asked lost the permission."""
        way, proposal = await self._step("where it may go", self._choose), self.proposal
        if way.kind == "nowhere":
            return None
        if way.kind == "patch":
            return await self._show_patch(proposal.tip, way.why, proposal.tested)
        if way.kind == "pull_request":
            return await self._propose(proposal.tip, way.why, proposal.tested)
        return await self._push_or_propose(proposal.tip)

    async def _push_or_propose(self, made: str) -> Delivered:
        """Push to the branch, on top of what others push meanwhile."""
        base, tip, tested = self.start.head, made, self.proposal.tested
        for _ in range(_MOST_PUSHES):
            pushed = await self._step("push to the branch", self._push, tip, self._branch, base)
            if pushed.is_pushed:
                commit = await self._step("what is on the branch", self._find_signed, tip)
                return Delivered(commit=commit, took_in="" if base == self.start.head else base, tested=tested)
            if pushed.outcome == "refused":
                return await self._go_round(made, pushed.said)
            taken = await self._step("take in what was pushed", self._take_in, made)
            if taken.is_over:
                return Delivered(why=taken.why, tested=tested)
            if not taken.head:
                return await self._show_patch(made, taken.why, self.proposal.tested)
            if not taken.tip:
                return await self._propose(made, taken.why, self.proposal.tested)
            tested = await self.tests.run(taken.tip)
            if tested.is_failed:
                return await self._propose(taken.tip, texts.explain_conflicting_tests(taken.head), tested)
            base, tip = taken.head, taken.tip
        return await self._propose(made, texts.BUSY_BRANCH, self.proposal.tested)

    async def _go_round(self, made: str, said: str) -> Delivered:
        """Another way than the push that GitHub refused.

        :param said: GitHub's words.
        """
        why, tested = texts.explain_refusal(said), self.proposal.tested
        if self.proposal.merges and PushRule.no_merges.is_named(said):
            return await self._show_patch(made, why, tested, is_linear=True)
        if PushRule.workflows.is_named(said):
            return await self._show_patch(made, why, tested)
        return await self._propose(made, why, tested)

    async def _propose(self, tip: str, why: str, tested: TestedDraft) -> Delivered:
        """Open a pull request into the branch; if that fails, show the patch."""
        opened = await self._step("open the pull request", self._open, tip, why)
        if opened.number is None:
            return await self._show_patch(tip, f"{why}, and {opened.why}", tested)
        return Delivered(number=opened.number, why=why, tested=tested)

    async def _show_patch(self, tip: str, why: str, tested: TestedDraft, *, is_linear: bool = False) -> Delivered:
        patch = await self._step("render the patch", self._render_patch, tip, is_linear)
        return Delivered(patch=patch, why=why, tested=tested)

    @property
    def _branch(self) -> str:
        return self.start.pull_request.head_ref

    @property
    def _step(self):
        return self.context.journal.step

    # --- steps -------------------------------------------------------------------------------------------------

    async def _choose(self) -> Way:
        services, run, live = self.context.services, self.context.run, self.start.pull_request
        if await load_permitted(services, self.asked) is None:
            return Way(kind="nowhere")
        if live.is_from_fork(run.repository.id):
            return Way(kind="patch", why="Forge does not write to forks")
        obstacle = await find_opening_obstacle(services, run.repository)
        if obstacle is not None:
            return Way(kind="patch", why=obstacle)
        if live.head_ref in {live.default_branch, live.base_ref}:
            return Way(kind="pull_request", why=texts.explain_default_branch(live.head_ref))
        if self.proposal.protected:
            return Way(kind="pull_request", why=texts.explain_protected(self.proposal.protected))
        if self.proposal.tested.is_failed:
            return Way(kind="pull_request", why="tests fail with it")
        return Way(kind="branch")

    async def _push(self, tip: str, branch: str, expected: str | None) -> PushResult:
        mirror, services, run = await self.context.fetch_mirror(), self.context.services, self.context.run

        async def is_pushed() -> bool:
            head, signed = await mirror.head_of(branch), await find_signed(services, run.repository, tip)
            return head is not None and (head == signed or await self._has(mirror, head, signed))

        result = await pull_requests.push_once(
            services,
            run,
            f"push {branch} {tip}",
            mirror,
            tip,
            branch,
            expected,
            is_pushed=is_pushed,
            for_accounts=sorted(await list_askers(services, run)),
            beside=[self.proposal.merges] if self.proposal.merges else (),
        )
        return result.model_copy(update={"said": explain_refused_push(result.said)}) if result.said else result

    async def _has(self, mirror: Mirror, head: str, commit: str) -> bool:
        await mirror.fetch(head, self.start.head, self.context.run.number)
        return await mirror.follows(head, commit)

    async def _find_signed(self, tip: str) -> str:
        return await find_signed(self.context.services, self.context.run.repository, tip)

    async def _take_in(self, made: str) -> TakenIn:
        """Put the change on top of the branch as it is now."""
        services, run = self.context.services, self.context.run
        live = await services.host.pull_request(run.repository, run.number)
        head = await (await self.context.fetch_mirror()).head_of(self._branch) if live.is_open else None
        if head is None:
            return TakenIn(why="its branch is gone" if live.is_open else "the pull request was closed meanwhile")
        mirror = await fetch_commits(services, run.repository, run.number, head, self.start.head)
        obstacle = await self._find_other_history(mirror, head) if self.proposal.merges else ""
        if obstacle:
            return TakenIn(why=obstacle, is_over=True)
        tree = await merge_onto(mirror, head, made)
        if tree is None:
            return TakenIn(head=head, why=texts.explain_conflict(head))
        message, stamp = self.proposal.message, await self.context.load_stamp()
        if not self.proposal.merges:
            return TakenIn(head=head, tip=await mirror.commit_tree(head, tree, message, *stamp))
        tip = await commit_merge(mirror, tree, (head, self.proposal.merges), message, *stamp)
        return TakenIn(head=head, tip=tip)

    async def _find_other_history(self, mirror: Mirror, head: str) -> str:
        """Why a merge has no place on top of what the branch is now, as a clause; empty if it has."""
        await mirror.fetch(head, self.proposal.merges, self.context.run.number)
        if await mirror.follows(head, self.proposal.merges):
            return update_texts.TAKEN_IN
        return "" if await mirror.follows(head, self.start.head) else update_texts.REWRITTEN

    async def _open(self, tip: str, why: str) -> Opened:
        services, run = self.context.services, self.context.run
        live = await services.host.pull_request(run.repository, run.number)
        if not live.is_open:
            return Opened(why="the pull request is closed")
        branch = f"{PREFIX}do-{run.number}-{run.id[-6:].lower()}"
        pushed = await self._push(tip, branch, None)
        if not pushed.is_pushed:
            said = "" if pushed.said in why else f": {pushed.said}"
            return Opened(why=f"GitHub did not take a branch for it{said}")
        proposal, merges = self.proposal, bool(self.proposal.merges)
        body = texts.render_pull_request(run.number, proposal.summary, self.asked.login, why, merges=merges)
        try:
            return Opened(
                number=await pull_requests.open_fix_once(services, run, branch, live.head_ref, proposal.title, body)
            )
        except NotOpened as error:
            return Opened(why=f"GitHub took no pull request from {branch}: {error.message}")

    async def _render_patch(self, tip: str, is_linear: bool) -> str:
        mirror, resolved = await self.context.fetch_mirror(), self.proposal.resolved
        if self.proposal.merges:
            return await render_resolved(self.context, mirror, self.start, tip, resolved, is_linear=is_linear)
        return texts.render_patch(await mirror.render_patch(self.start.head, tip, texts.LONGEST_PATCH))


async def render_resolved(
    context: RunContext,
    mirror: Mirror,
    start: Start,
    tree: str,
    paths: Sequence[str],
    *,
    is_linear: bool = False,
    is_all: bool = True,
) -> str:
    """Some files of a merge, for whoever merges by hand.

    :param paths: in which conflicts were resolved.
    :param is_linear: the branch takes no merges.
    :param is_all: nothing else conflicts.
    """
    patch = await mirror.render_patch(start.head, tree, update_texts.LONGEST_PATCH, paths) if paths else ""
    source = name_source(context, start)
    base = start.pull_request.base_ref
    return update_texts.render_patch(patch, paths, base, source, is_linear=is_linear, is_all=is_all)


def name_source(context: RunContext, start: Start) -> str:
    """The remote from which whoever merges by hand fetches the base: to who works on a fork, ``origin`` is the fork."""
    run = context.run
    is_fork = start.pull_request.is_from_fork(run.repository.id)
    return context.services.host.clone_url(run.repository) if is_fork else "origin"
