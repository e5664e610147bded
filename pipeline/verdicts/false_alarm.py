"""Keeps the code of a false alarm, so that later versions of its detector are tried against it."""

from domain.errors import CodeAccessError, CodeHostError, CommitGone, RateLimited
from domain.github.pull_requests import PullRequest
from domain.review.findings import Finding
from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from memory.findings import false_alarms
from memory.findings.false_alarms import FalseAlarm
from pipeline.checkout import compare_with_base
from pipeline.context import Services

LARGEST = 200_000
"""Bytes of each version of a file that is kept."""


async def keep_false_alarm(
    services: Services, repository: RepositoryRef, pull_request: PullRequest, finding: Finding
) -> bool:
    """Keep both versions of a finding's file, without credentials; whether they could be kept.

    They cannot if the head changes the file no more, a version is too large, or GitHub does not give the code. What
    people decided about the finding counts all the same.

    :raises RateLimited: GitHub gives it later.
    """
    try:
        alarm = await _load(services, repository, pull_request, finding)
    except RateLimited:  # GitHub gives it later, and so this is done again
        raise
    except (CodeAccessError, CodeHostError, CommitGone):
        return False
    if alarm is None:
        return False
    number, now = pull_request.number, services.clock.now()
    await false_alarms.keep(services.database, repository.id, number, finding.fingerprint, alarm, now)
    return True


async def _load(
    services: Services, repository: RepositoryRef, pull_request: PullRequest, finding: Finding
) -> FalseAlarm | None:
    mirror, merge_base = await compare_with_base(services, repository, pull_request)
    change = await mirror.change(merge_base, pull_request.head_sha)
    file = change.file(finding.path)
    if file is None:
        return None
    versions = (await mirror.versions([file])).get(file.path)
    sides = () if versions is None else (versions.base, versions.head)
    if versions is None or any(side is not None and len(side) > LARGEST for side in sides):
        return None
    base, head = (None if side is None else _redact(side) for side in (versions.base, versions.head))
    return FalseAlarm("", finding.rule, file.path, file.old_path or file.path, base, head)


def _redact(content: bytes) -> bytes:
    return redact_outgoing(content.decode(errors="replace")).encode()
