"""Records reactions of people to Forge's comments: how findings went, and thumbs.

How findings went is known when the next head is reviewed; thumbs are read when the pull request is closed.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence

import structlog

from domain.errors import CodeAccessError, HostFailure
from domain.events import EventType
from domain.github.conversation import Thumb, ThumbGiven
from domain.github.pull_requests import PullRequest
from domain.memories import Use
from domain.review.feedback import classify_uptake
from domain.review.findings import Finding
from domain.review.review import Review
from domain.runs.run import RepositoryRef, Run
from domain.slash import Dismiss
from memory import findings, ledger
from memory.learned import feedback, memories
from memory.runs import checkpoints
from pipeline.context import Services
from pipeline.gates.authorship import load_authorship
from pipeline.verdicts.suppression import is_learning_enabled
from safety.authorization import AuthorizationFacts, authorise
from safety.authorship import Authorship
from workspace.mirror import Mirror

log = structlog.get_logger(__name__)

_TEACHING_ROLE = "write"


async def record_uptake(
    services: Services,
    run: Run,
    review: Review,
    mirror: Callable[[], Awaitable[Mirror]],
    *,
    settled: Collection[str],
    is_fork: bool,
) -> Sequence[str]:
    """Record which findings with a comment are gone without a dismissal, and how; their names.

    Such a finding was right, so the memories behind it gain confidence, unless the push came from a fork.
    May be repeated.

    :param settled: names of the findings whose threads Forge resolved because they are gone.
    """
    gone = [finding for finding in await _list_gone(services, run, review) if finding.id in settled]
    if not gone:
        return []
    contents = await _read_contents(mirror, run, [finding.path for finding in gone if finding.fix is not None])
    now = services.clock.now()
    for finding in gone:
        how = classify_uptake(finding, contents.get(finding.path, b"").decode(errors="replace"))
        payload = {"finding": finding.id, "rule": finding.rule, "path": finding.path, "how": how.value}
        cause = f"taken up {finding.fingerprint}"
        await ledger.record_feedback(services.database, run.id, EventType.feedback_taken_up, payload, cause, now)
        led = () if is_fork else finding.memories
        await memories.record_use(services.database, led, Use.applied, f"{cause} #{run.number}", now)
    return [finding.id for finding in gone]


async def _list_gone(services: Services, run: Run, review: Review) -> list[Finding]:
    """The findings of the previous review that had a comment and are not in this review."""
    before = await checkpoints.load_latest_review(services.database, run.repository.id, run.number, before=run.id)
    if before is None or before.head_sha == run.head_sha:
        return []
    carried = await findings.load_by_comment(services.database, run.repository.id, run.number)
    commented = {finding.fingerprint for remark in carried.values() for finding in remark}
    there = {known for each in review.all_findings for known in (each.fingerprint, each.trail)}
    gone = [
        finding
        for finding in before.findings
        if finding.fingerprint in commented and there.isdisjoint((finding.fingerprint, finding.trail))
    ]
    dismissed = await feedback.find_dismissed(
        services.database, run.repository, run.number, [each.fingerprint for each in gone]
    )
    return [finding for finding in gone if finding.fingerprint not in dismissed]


async def _read_contents(mirror: Callable[[], Awaitable[Mirror]], run: Run, paths: Sequence[str]) -> dict[str, bytes]:
    if not paths:
        return {}
    try:
        return dict(await (await mirror()).read(run.head_sha, sorted(set(paths))))
    except CodeAccessError:  # then nobody knows how they went
        return {}


async def record_thumbs(services: Services, repository: RepositoryRef, live: PullRequest) -> int:
    """Record the thumbs at Forge's comments on a closed pull request; how many count.

    GitHub sends no webhook for them. May be repeated. If GitHub does not answer, they are not read later.

    :raises RateLimited: then they are read later.
    """
    # One thumb is about one rule, and nobody knows which one of a comment that says several.
    carried = await findings.load_subjects(services.database, repository.id, live.number)
    if not carried:
        return 0
    try:
        given = await _load_counting_thumbs(services, repository, live, carried)
        doubts = [each for each in given if each.thumb is Thumb.down and carried[each.comment_id].memories]
        is_learning = bool(doubts) and await is_learning_enabled(services, repository)
    except HostFailure as error:
        log.warning("signals.no_thumbs", repository=repository.id, number=live.number, error=str(error))
        return 0
    for each in given:
        await _record_thumb(services, repository, live.number, carried[each.comment_id], each)
    if is_learning:
        await _doubt_memories(services, repository, live.number, [(each, carried[each.comment_id]) for each in doubts])
    return len(given)


async def _load_counting_thumbs(
    services: Services, repository: RepositoryRef, live: PullRequest, comments: Collection[int]
) -> list[ThumbGiven]:
    """The thumbs of people who may dismiss a finding here.

    Their roles are asked in one call, so that thumbs of many strangers cost nothing.
    """
    given = await services.host.thumbs(repository, live.number, comments)
    if all(each.account_id == live.author_id or not each.is_person for each in given):
        return []
    teachers = await services.host.accounts_with(repository, _TEACHING_ROLE)
    wrote = await load_authorship(services, repository, live, ())
    return [each for each in given if _may_teach(each, wrote, teachers)]


def _may_teach(given: ThumbGiven, wrote: Authorship, teachers: Collection[int]) -> bool:
    role = _TEACHING_ROLE if given.account_id in teachers else "none"
    is_author = wrote.includes(given.account_id)
    facts = AuthorizationFacts(role=role, is_app=not given.is_person, is_author=is_author, doubt=wrote.doubt)
    return authorise(Dismiss(reason=given.thumb.value), facts) is None


async def _record_thumb(
    services: Services, repository: RepositoryRef, number: int, finding: Finding, given: ThumbGiven
) -> None:
    """Record a thumb for the run that found the finding, so that later runs do not count it again."""
    found_by = await findings.find_runs(services.database, repository.id, number, finding.id)
    if found_by is None:
        return
    payload = {
        "comment": given.comment_id,
        "finding": finding.id,
        "rule": finding.rule,
        "content": given.thumb.value,
        "by": given.login,
        "account": given.account_id,
    }
    kind, now = EventType.feedback_reacted, services.clock.now()
    await ledger.record_feedback(services.database, found_by[0], kind, payload, _format_cause(given), now)


async def _doubt_memories(
    services: Services, repository: RepositoryRef, number: int, doubts: Sequence[tuple[ThumbGiven, Finding]]
) -> None:
    """Doubt the memories behind findings with a thumb down. For a dismissed finding that happened already."""
    fingerprints = {finding.fingerprint for _, finding in doubts}
    dismissed = await feedback.find_dismissed(services.database, repository, number, fingerprints)
    now = services.clock.now()
    for given, finding in doubts:
        if finding.fingerprint not in dismissed:
            await memories.record_use(services.database, finding.memories, Use.dismissed, _format_cause(given), now)


def _format_cause(given: ThumbGiven) -> str:
    return f"{given.thumb.value} of {given.account_id} at comment {given.comment_id}"
