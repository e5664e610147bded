"""Finds what the base branch means for a review, and what may pass as no giving up there."""

from datetime import timedelta

from agents.review import reviewer
from agents.review.checks.avoidance import AvoidanceCheck
from agents.review.layers import CheckedChange, ModelPart
from domain.config.configuration import Configuration
from domain.gates import Gate, GateState, digest
from domain.github.pull_requests import PullRequest
from domain.review.avoidance import MEMORY_DAYS
from domain.review.changes import Change
from domain.review.feedback import DismissalScope
from domain.review.review import IfUnread, KeptApproval, ProtectedContents, Review
from domain.runs.run import REVIEW_CHECK, Phase, Run
from memory import findings, gates
from memory.learned import feedback
from pipeline.context import Services
from pipeline.gates.decide import is_still_entitled
from pipeline.publishing.checks import requires_check
from pipeline.verdicts.settings import RunSettings
from safety.gates import digest_subject, list_protected
from workspace.git import Unrelated
from workspace.mirror import Mirror


async def add_base(
    checked: CheckedChange, mirror: Mirror, run: Run, settings: RunSettings, change: Change
) -> CheckedChange:
    """The result of layers 1 and 2, with what the base branch means for it and for its protected files."""
    of_base = {
        "only_for": await _find_only_base(mirror, settings.pull_request, change.merge_base),
        "is_shared": run.check_name == REVIEW_CHECK,
        "protected": await _read_protected(mirror, run, change, settings.configuration),
    }
    return checked.model_copy(update=of_base)


async def _find_only_base(mirror: Mirror, pull_request: PullRequest, merge_base: str) -> str:
    """The base branch, where the review holds for it alone; empty where the default branch would get the same change.

    Approvals and checks go with a head, and so into whatever branch its pull request is led to before Forge hears of
    that (T-P13).
    """
    if pull_request.base_ref == pull_request.default_branch:
        return ""
    default = await mirror.fetch_default()
    try:
        is_same = default is not None and await mirror.merge_base(default, pull_request.head_sha) == merge_base
    except Unrelated:  # such as a branch that holds a site only
        is_same = False
    return "" if is_same else pull_request.base_ref


async def _read_protected(
    mirror: Mirror, run: Run, change: Change, configuration: Configuration
) -> ProtectedContents | None:
    """What a change makes of its protected files; None where it has none, or where its branch is not known."""
    touched = list_protected(change.paths, configuration)
    if not touched or not run.base_ref:
        return None
    contents = await mirror.describe_contents(change.merge_base, change.head_sha, {*touched})
    return ProtectedContents(paths=tuple(touched), digest=digest(run.base_ref, *contents))


async def list_already(mirror: Mirror, run: Run, change: Change) -> tuple[str, ...]:
    """The paths at head that the base branch has identically, as after a squash of the pull request below this one.

    Merging changes nothing there, so nothing of it is this pull request's to mend.
    """
    changed = {each.path: each.new_blob for each in change.files if each.new_blob is not None}
    there = await mirror.blobs(run.base_sha, [path.encode() for path in changed])
    return tuple(path for path, blob in changed.items() if there.get(path.encode()) == blob)


def leave_to_base(checked: CheckedChange, already: tuple[str, ...]) -> CheckedChange:
    """The result without findings in files that the base branch has identically, and with a word about it."""
    left = [each for each in checked.findings if each.path in already]
    paths = dict.fromkeys(each.path for each in left)
    told = [f"Findings in {', '.join(paths)} are left out: the base branch has that exactly so."] if left else []
    layers = [
        each.model_copy(update={"note": " ".join(filter(None, (each.note, *told))) or None})
        if any(finding.layer is each.layer for finding in left)
        else each
        for each in checked.layers
    ]
    kept = tuple(each for each in checked.findings if each.path not in already)
    return checked.model_copy(update={"already": already, "findings": kept, "layers": tuple(layers)})


async def build_for_base(services: Services, run: Run, checked: CheckedChange, model: ModelPart) -> Review:
    """The review of all layers. Where the branch requires the check, a person is asked about unread source."""
    kept = {"kept_approval": await _find_kept_approval(services, run, checked.protected)}
    model = model.model_copy(update={"findings": tuple(f for f in model.findings if f.path not in checked.already)})
    built = reviewer.build_review(checked, model).model_copy(update=kept)
    if built.unread.paths and built.unread.then is IfUnread.neutral and await requires_check(services, run):
        asking = checked.model_copy(update={"if_unread": IfUnread.ask})
        return reviewer.build_review(asking, model).model_copy(update=kept)
    return built


async def _find_kept_approval(services: Services, run: Run, protected: ProtectedContents | None) -> KeptApproval | None:
    """The last answer about exactly these files, if it is an approval of somebody who could give it now as well.

    :raises RateLimited: GitHub says later who may.
    """
    if protected is None:
        return None
    asked = await gates.list_for_pull_request(services.database, run.repository.id, run.number)
    answered = [gate for gate in asked if gate.run_id != run.id and _is_answer(gate, digest_subject(protected))]
    last = answered[-1] if answered else None
    if last is None or last.state is not GateState.approved or last.decision is None:
        return None
    if not await is_still_entitled(services, last):
        return None
    return KeptApproval(by=last.decision.by_login, head_sha=last.head_sha)


def _is_answer(gate: Gate, subject: str) -> bool:
    is_same = gate.name == "protected_paths" and gate.request.phase is Phase.review and gate.request.subject == subject
    return is_same and gate.state in {GateState.approved, GateState.rejected}


async def build_avoidance_check(
    services: Services, run: Run, configuration: Configuration, *, owned: bool
) -> AvoidanceCheck:
    """How it is looked at.

    :param owned: Forge opened the pull request; then the issue it is for may excuse what it names.
    """
    database, repository = services.database, run.repository.id
    since = services.clock.now() - timedelta(days=MEMORY_DAYS)
    records = await findings.load_detector_records(database, repository, since)
    return AvoidanceCheck(configuration.avoidance, owned, records)


async def end_orphaned_scopes(services: Services, run: Run, mirror: Mirror) -> None:
    """Let nothing pass any more in files that the base of a pull request into the default branch does not have."""
    database, now = services.database, services.clock.now()
    known = await feedback.list_with_scope(database, run.repository.id)
    held = [each for each in known if each.scope is DismissalScope.file and each.find_lapse(now) is None]
    if not held:
        return
    there = await mirror.read(run.base_sha, sorted({each.path for each in held}))
    missing = [each for each in held if each.path not in there]
    gone = [each.id for each in missing if not await _is_open(services, run, each.number)]
    if gone:
        await feedback.end_scopes(database, gone, now)


async def _is_open(services: Services, run: Run, number: int) -> bool:
    """Whether the pull request may still bring the file."""
    return (await services.host.pull_request(run.repository, number)).is_open
