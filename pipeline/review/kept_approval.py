"""Finds whether an approval of protected files at an earlier head stands: they are exactly what was approved."""

from domain.config.configuration import Configuration
from domain.gates import Gate, GateState, digest
from domain.review.changes import Change
from domain.review.review import KeptApproval, ProtectedContents
from domain.runs.run import Phase, Run
from memory.gates import gates
from pipeline.context import Services
from pipeline.gates.decide import is_still_entitled
from safety.gates import digest_subject, list_protected
from workspace.mirror import Mirror


async def read_protected(
    mirror: Mirror, run: Run, change: Change, configuration: Configuration
) -> ProtectedContents | None:
    """What a change makes of its protected files; None where it has none, or where its branch is not known."""
    touched = list_protected(change.paths, configuration)
    if not touched or not run.base_ref:
        return None
    contents = await mirror.describe_contents(change.merge_base, change.head_sha, {*touched})
    return ProtectedContents(paths=tuple(touched), digest=digest(run.base_ref, *contents))


async def find_kept_approval(services: Services, run: Run, protected: ProtectedContents | None) -> KeptApproval | None:
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
