"""Finds who wrote a pull request: who pushed its commits and those overwritten, and whose words Forge carried out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from agents.coding.planner import PlanningTask
from domain.errors import CodeAccessError, CommitGone, HostFailure, Unavailable
from domain.gates import Gate
from domain.github.commits import AN_APP, MOST_COMMITS, Commit, Push
from domain.github.conversation import AskedIssue, Issue, IssueComment, TextEdit
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef, Run
from memory import gates
from memory.deliveries import pushes
from memory.learned import recall
from memory.runs import checkpoints, model_answers, outbox, runs
from pipeline.checkout import fetch_commits, fetch_mirror, find_base
from pipeline.config import loading
from pipeline.context import Services
from safety.authorship import Authorship, Contribution, Doubt, EarlierHeads, HeadApproval, find_parts, list_overwriting
from safety.eligibility import is_listed
from workspace.conflicts import has_same_change, is_clean_merge, list_own_commits
from workspace.mirror import Mirror

_WORKFLOWS = "github-actions[bot]"  # as which the jobs of GitHub Actions push
_BEFORE_MERGE = timedelta(seconds=2)  # so that whoever merges is not the first who pushed
_MOST_MERGES = 50  # that are made again for a comparison; others count as made by hand
_MOST_HEADS = 30  # earlier ones that are fetched; others count as gone


async def load_authorship(
    services: Services, repository: RepositoryRef, pull_request: PullRequest, accepting: Collection[str]
) -> Authorship:
    """Who wrote a pull request, as far as nobody else accepted that at one of these gates.

    :raises CodeHostError: if GitHub does not say what it consists of.
    """
    listed = await services.host.pull_commits(repository, pull_request.number)
    try:
        trusted = [pull_request.author_id] if await is_trusted_app(services, repository, pull_request) else []
        parts = await load_contributions(services, repository, pull_request, listed, trusted)
        accepted = await _load_approvals(services, repository, pull_request, accepting)
    except CodeAccessError as error:
        raise Unavailable(error.message, error.advice) from error
    return Authorship(pull_request.author_id, parts, accepted)


async def is_trusted_app(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> bool:
    """Whether an App opened it that the repository lets open pull requests as it does a person.

    What runs in a workflow is never one: whoever may push may make it push anything.
    """
    if not pull_request.author_is_bot or pull_request.author_login.casefold() == _WORKFLOWS:
        return False
    configuration = await loading.load_configuration(services, repository)
    return is_listed(pull_request.author_login, configuration.review.bots)


async def _load_approvals(
    services: Services, repository: RepositoryRef, pull_request: PullRequest, accepting: Collection[str]
) -> tuple[HeadApproval, ...]:
    """What was approved for the branch into which it goes now."""
    found: list[HeadApproval] = []
    where = (services.database, repository.id, pull_request.number)
    for gate in await gates.list_approved(*where, accepting, pull_request.base_ref):
        run, said = await runs.get(services.database, gate.run_id), gate.decision
        if run is not None and said is not None and said.by_id and not said.waived and not said.own:
            found.append(HeadApproval(await list_shown(services, run), said.by_id))
    return tuple(found)


async def list_shown(services: Services, run: Run) -> frozenset[str]:
    """The commits that a run was about: those of its head that its base did not have; none where that is not known.

    :raises CodeAccessError: if they could not be fetched.
    """
    try:
        mirror = await fetch_mirror(services, run)
    except CommitGone:
        return frozenset()
    return frozenset(await list_own_commits(mirror, run.base_sha, run.head_sha, MOST_COMMITS) or ())


async def find_lone_author(services: Services, repository: RepositoryRef, number: int, role: str) -> str:
    """The login of who wrote all of a pull request and is alone with a role.

    :returns: empty if there is none, or GitHub does not say.
    :raises RateLimited: GitHub says it later.
    """
    try:
        pull_request = await services.host.pull_request(repository, number)
        author = frozenset({pull_request.author_id})
        if frozenset(await services.host.accounts_with(repository, role)) != author:
            return ""
        wrote = await load_authorship(services, repository, pull_request, ())
    except HostFailure:
        return ""
    return pull_request.author_login if wrote.authors == author and wrote.doubt is None else ""


async def keep_authors_of_merge(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> None:
    """Keep who wrote a merged pull request, for the commits that its merge made: GitHub names whoever merged it.

    :raises CodeHostError: if GitHub does not say what it consists of.
    """
    if not pull_request.merge_sha:
        return
    wrote = await load_authorship(services, repository, pull_request, ())
    at = (pull_request.merged_at or services.clock.now()) - _BEFORE_MERGE
    where = (services.database, repository, pull_request.merge_sha)
    await pushes.note_merge(*where, wrote.authors, at, pull_request.base_sha)


async def load_contributions(
    services: Services,
    repository: RepositoryRef,
    pull_request: PullRequest,
    listed: Sequence[Commit],
    trusted: Collection[int],
) -> tuple[Contribution, ...]:
    """Who wrote the commits of a pull request.

    :param listed: the commits as GitHub lists them.
    :param trusted: Apps that nobody makes push what they like.
    :raises CodeHostError: if GitHub does not say who pushed.
    :raises CodeAccessError: if what it consists of could not be fetched.
    """
    history = _BranchHistory(services, repository, pull_request, listed)
    is_fork = pull_request.is_from_fork(repository.id)
    owners = [pull_request.author_id, *filter(None, [pull_request.head_owner_id])] if is_fork else None
    parts = await history.find_parts(owners, trusted)
    if not is_fork and any(part.doubt is Doubt.unknown for part in parts):  # the App came later, or a delivery was lost
        history.told = await services.host.pushes_to(repository, pull_request.head_ref)
        parts = await history.find_parts(owners, trusted)
    if len(listed) >= MOST_COMMITS or pull_request.head_sha not in {each.sha for each in listed}:  # not all are listed
        parts = (*parts, Contribution(pull_request.head_sha, frozenset(), Doubt.unknown))
    return parts


class _BranchHistory:
    """The commits of a pull request and of the heads before it, as far as pushes are known.

    :ivar told: the pushes that GitHub lists, where those that Forge heard of are not all.
    """

    def __init__(
        self, services: Services, repository: RepositoryRef, pull_request: PullRequest, listed: Sequence[Commit]
    ) -> None:
        self._services, self._repository, self._pull_request = services, repository, pull_request
        self.commits: Sequence[Commit] = listed
        self.told: Sequence[Push] = ()
        self._mirror: Mirror | None = None
        self._earlier: dict[str, Commit] = {}
        self._looked: set[str] = set()
        self._gone: set[str] = set()
        self._base = ""

    async def find_parts(self, owners: Collection[int] | None, trusted: Collection[int]) -> tuple[Contribution, ...]:
        known = await self._load_pushes()
        await self._mark_clean_merges()
        same = await self._list_same(known)
        earlier = EarlierHeads(tuple(self._earlier.values()), frozenset(self._gone), same)
        return find_parts(self.commits, known, owners, trusted, earlier)

    async def _load_pushes(self) -> list[Push]:
        """The pushes of all commits. What they overwrote is looked up, and who pushed that."""
        homes = {self._repository.id, *filter(None, [self._pull_request.head_repository_id])}
        while True:
            shas = [*(commit.sha for commit in self.commits), *self._earlier]
            there = set(shas)
            known = await pushes.load(self._services.database, homes, shas)
            known += [push for push in self.told if push.after in there]
            before = sorted({push.before for push in known if push.before} - there - self._looked)
            if not before:
                return known
            for head in before:
                await self._look_up(head)

    async def _look_up(self, head: str) -> None:
        """Find the commits of a head that was overwritten; one that the base has was none of the pull request's."""
        self._looked.add(head)
        if len(self._looked) > _MOST_HEADS:
            self._gone.add(head)
            return
        try:
            mirror = await self._fetch_with_base()
            await mirror.fetch(head, self._base, self._pull_request.number)
        except CommitGone:
            self._gone.add(head)
            return
        found = await list_own_commits(mirror, self._base, head, MOST_COMMITS)
        if found is None:
            self._gone.add(head)
            return
        there = {commit.sha for commit in self.commits}
        self._earlier |= {sha: Commit(sha, parents) for sha, parents in found.items() if sha not in there}

    async def _fetch_with_base(self) -> Mirror:
        """The mirror with the head and what the base branch is now.

        :raises CommitGone: one of them is gone.
        """
        self._base = self._base or await find_base(self._services.host, self._repository, self._pull_request)
        number, head = self._pull_request.number, self._pull_request.head_sha
        self._mirror = await fetch_commits(self._services, self._repository, number, head, self._base)
        return self._mirror

    async def _mark_clean_merges(self) -> None:
        """Find out which merges git makes just so. It takes their parents, not the base, which may be gone."""
        merges = [each for each in (*self.commits, *self._earlier.values()) if len(each.parents) > 1]
        if not merges:
            return
        number, head = self._pull_request.number, self._pull_request.head_sha
        mirror = self._mirror or await fetch_commits(self._services, self._repository, number, head, head)
        clean = {each.sha for each in merges[:_MOST_MERGES] if await is_clean_merge(mirror, each.sha, each.parents)}
        self.commits = [replace(each, is_clean_merge=each.sha in clean) for each in self.commits]
        self._earlier = {sha: replace(each, is_clean_merge=sha in clean) for sha, each in self._earlier.items()}

    async def _list_same(self, known: Sequence[Push]) -> frozenset[tuple[str, str]]:
        """The heads that forced pushes overwrote with ones that change the same."""
        everything = (*self.commits, *self._earlier.values())
        pairs = {(push.before, push.after) for push in list_overwriting(everything, known)}
        if not pairs:
            return frozenset()
        try:
            mirror = await self._fetch_with_base()
        except CommitGone:
            return frozenset()
        return frozenset([pair for pair in sorted(pairs) if await has_same_change(mirror, self._base, *pair)])


async def load_proposed_authorship(services: Services, gate: Gate) -> Authorship | None:
    """Who wrote the pull request that the run of an issue proposed, if a gate of that run is about it.

    :raises CodeHostError: if GitHub does not say.
    """
    run = await runs.get(services.database, gate.run_id)
    if run is None or not run.is_of_issue or not gate.request.proposed_head:
        return None
    number = await outbox.find_proposal(services.database, run.id)
    if number is None:
        return None
    pull_request = await services.host.pull_request(gate.repository, number)
    wrote = await load_authorship(services, gate.repository, pull_request, {gate.name})
    asked = await list_askers(services, run)
    told = Contribution(run.id, asked - {AN_APP}, Doubt.app if AN_APP in asked else None)
    return replace(wrote, parts=(*wrote.parts, told))


async def list_askers(services: Services, run: Run) -> frozenset[int]:
    """Whoever asked for a run, wrote or edited what it was told, requested changes, or said at a gate what to do.

    So did who taught what agents were told from memory: there, or where Forge said before what this run takes up.
    An App whose issue, check or review comment it was told is among them as :data:`domain.github.commits.AN_APP`.

    :raises CodeHostError: if GitHub does not say who wrote the issue and its comments.
    """
    requester = await runs.find_requester(services.database, run.id)
    decided = [gate.decision for gate in await gates.list_for_run(services.database, run.id)]
    said = [decision.by_id for decision in decided if decision is not None and decision.words.strip()]
    sent_back = await checkpoints.load_send_backs(services.database, run)
    wanted = [who for each in sent_back for fix in each.to_fix for who in (fix.by_id, *fix.edited_by)]
    taught = await recall.list_teachers(services.database, run.repository.id, run.number)
    accounts = (requester, *said, *wanted, *taught, *await _list_writers(services, run))
    return frozenset(who for who in accounts if who is not None)


async def _list_writers(services: Services, run: Run) -> Collection[int]:
    kept = await model_answers.find(services.database, run, model_answers.TASK)
    if kept is not None:
        return PlanningTask.model_validate(kept).writers
    issue = await services.host.issue(run.repository, run.number)  # the task of a run that ended long ago is gone
    return (await load_heard(services, run, issue)).writers


class HeardComment(NamedTuple):
    """A comment, and who wrote or edited it."""

    comment: IssueComment
    by: tuple[int, ...]


@dataclass(frozen=True)
class HeardWords:
    """What the run of an issue takes into account beside the issue, and whose words all of it is.

    :param issue_by: who wrote or edited the issue or its title.
    :param comments: oldest first.
    """

    issue_by: tuple[int, ...]
    comments: Sequence[HeardComment]

    @property
    def writers(self) -> frozenset[int]:
        """Everybody who wrote or edited something of it."""
        return frozenset(self.issue_by).union(*(each.by for each in self.comments))


async def load_heard(services: Services, run: Run, issue: Issue) -> HeardWords:
    """The comments of people as they were when somebody asked for the run.

    Later ones, such as an answer to a gate, do not change its task; nor does what somebody edited since then: whoever
    asked did not see it.

    :raises CodeHostError: if GitHub does not list them, or does not say who edited them.
    """
    until = await _find_asked_at(services, run)
    every = await services.host.issue_comments(run.repository, run.number)
    there = [each for each in every if not each.is_app and each.created_at <= until]
    texts = [issue.node_id, *(each.node_id for each in there if each.is_edited)]
    edits = await services.host.text_edits(run.repository, texts)
    late = {text for text, made in edits.items() if any(each.at > until for each in made)}

    def list_by(text: Issue | IssueComment) -> tuple[int, ...]:
        made = drop_own(text.author_id, edits.get(text.node_id, ()))
        return list_writers(text.author_id, [each for each in made if each.at <= until], is_app=text.is_app)

    heard = [HeardComment(each, list_by(each)) for each in there if each.node_id not in late]
    return HeardWords(list_by(issue), heard)


async def _find_asked_at(services: Services, run: Run) -> datetime:
    kept = await model_answers.find(services.database, run, model_answers.ISSUE)
    asked = None if kept is None else AskedIssue.model_validate(kept).asked_at
    return asked or await runs.get_started_at(services.database, run.id) or services.clock.now()


def list_writers(author: int | None, edits: Collection[TextEdit], *, is_app: bool = False) -> tuple[int, ...]:
    """Who wrote or edited a text, as far as the author's account is still there.

    An App that wrote or edited it is among them as :data:`domain.github.commits.AN_APP`, because nobody knows whose
    words it brought, and so is whom GitHub does not name.

    :param is_app: an App wrote it.
    """
    wrote = {*([] if author is None else [author]), *([AN_APP] if is_app else [])}
    return tuple(sorted({each.writer for each in edits} | wrote))


def drop_own(author: int | None, edits: Collection[TextEdit]) -> list[TextEdit]:
    """The edits of others: an author's own say nothing more of whose words a text is, also if it is an App."""
    return [each for each in edits if each.by_id is None or each.by_id != author]
