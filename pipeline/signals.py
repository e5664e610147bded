"""Notes what people did about Forge's comments without saying so, once the next head is reviewed (SPEC M8)."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from domain.errors import CodeAccessError
from domain.events import EventType
from domain.findings import Finding
from domain.memories import Use
from domain.review import Review
from domain.runs import Run
from domain.signals import taken_up
from memory import checkpoints, dismissals, findings, ledger, memories
from pipeline.services import Services
from workspace.mirror import Mirror


async def note(
    services: Services,
    run: Run,
    review: Review,
    mirror: Callable[[], Awaitable[Mirror]],
    *,
    settled: Collection[str],
    is_fork: bool,
) -> Sequence[str]:
    """Note which findings that had a comment are gone without a dismissal, and how; their names.

    What led to one of them was right, so its memories are surer from now on (SPEC M3): not by what strangers push.
    May be repeated.

    :param settled: names of the findings whose threads Forge resolved because they are gone.
    """
    gone = [finding for finding in await _gone(services, run, review) if finding.id in settled]
    if not gone:
        return []
    contents = await _contents(mirror, run, [finding.path for finding in gone if finding.fix is not None])
    now = services.clock.now()
    for finding in gone:
        how = taken_up(finding, contents.get(finding.path, b"").decode(errors="replace"))
        payload = {"finding": finding.id, "rule": finding.rule, "path": finding.path, "how": how.value}
        cause = f"taken up {finding.fingerprint}"
        await ledger.note_feedback(services.database, run.id, EventType.feedback_taken_up, payload, cause, now)
        led = () if is_fork else finding.memories
        await memories.use(services.database, led, Use.applied, f"{cause} #{run.number}", now)
    return [finding.id for finding in gone]


async def _gone(services: Services, run: Run, review: Review) -> list[Finding]:
    """The findings of the review before that a comment carried, and that this one does not have any more."""
    before = await checkpoints.latest_review(services.database, run.repository.id, run.number, before=run.id)
    if before is None or before.head_sha == run.head_sha:
        return []
    carried = await findings.by_comment(services.database, run.repository.id, run.number)
    commented = {finding.fingerprint for finding in carried.values()}
    there = {known for each in review.found for known in (each.fingerprint, each.trail)}
    gone = [
        finding
        for finding in before.findings
        if finding.fingerprint in commented and there.isdisjoint((finding.fingerprint, finding.trail))
    ]
    dismissed = await dismissals.among(services.database, run.repository, [each.fingerprint for each in gone])
    return [finding for finding in gone if finding.fingerprint not in dismissed]


async def _contents(mirror: Callable[[], Awaitable[Mirror]], run: Run, paths: Sequence[str]) -> dict[str, bytes]:
    if not paths:
        return {}
    try:
        return dict(await (await mirror()).read(run.head_sha, sorted(set(paths))))
    except CodeAccessError:  # then it is only known that they are gone
        return {}
