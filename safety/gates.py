"""Decides the gates of a review, and its verdict after the answers."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from domain.config.conditions import Condition, Fact
from domain.config.configuration import Configuration
from domain.config.sections import GateSettings
from domain.config.values import parse_duration
from domain.gates import LATER, OWN_TIMEOUT, STANDARD_GATES, Gate, GateRequest, GateState, digest
from domain.review.avoidance import AvoidanceKind
from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.review import Conclusion, Decision, KeptApproval, ProtectedContents, Review, RiskLevel
from domain.runs.run import Phase
from domain.verbs import Verb, find_role
from domain.verdicts import Reason
from safety.gate_requests import (
    build_request,
    default_options,
    digest_findings,
    request_destructive,
    request_false_positive,
)
from safety.protected_files import explain_protection, select_asked
from safety.review_decision import CONCLUSIONS, decide, explain_exposed, raise_confirmed

OF_OTHER_PHASES = frozenset(STANDARD_GATES) - {
    *("security_findings", "human_review", "protected_paths", "destructive", "false_positive")
}
"""The gates that a finished review neither asks nor resolves."""

ASKS_LONE_AUTHOR = "gate.own"
"""The reason of a verdict that waits for the author, as nobody else has the role."""

UNASKED = "gate.unasked"
"""The reason of a verdict that a dismissal changed while gates were still to be asked."""


def list_requests(
    review: Review,
    paths: Sequence[str],
    configuration: Configuration,
    context: Mapping[str, Fact],
    gates: Sequence[Gate] = (),
    accepted: Collection[str] = (),
) -> list[GateRequest]:
    """Lists the gates that a review has to ask before it ends, the most severe first.

    Findings that the author has to fix anyway ask nobody: the push would void the answer. A critical
    security finding asks at once, and so does a finding of giving up that is disputed.

    :param review: with dismissals, without answers.
    :param paths: every changed path, also unread ones.
    :param context: the values for conditions of the repository's own gates.
    :param gates: the gates asked before.
    :param accepted: fingerprints of what ``destructive`` was approved for at an earlier head.
    """
    judged = request_false_positive(
        review, configuration, list_answered(gates) | list_still_accepted(review.findings, accepted)
    )
    asked = [*_request_security(review, configuration), *judged]
    if apply_answers(review, gates).decision is Decision.request_changes:
        return asked
    return [
        *asked,
        *_request_human(review, configuration, gates),
        *(each for each in request_destructive(review, configuration, accepted) if not _is_covered(each, gates)),
        *_request_protected(review, paths, configuration),
        *list_custom(Phase.review, configuration, context),
    ]


def list_postponed(review: Review, configuration: Configuration, context: Mapping[str, Fact]) -> tuple[Reason, ...]:
    """What people are asked once nothing blocks, as far as that is known; empty where nothing does.

    :param review: with answers.
    """
    if review.decision is not Decision.request_changes:
        return ()
    later = [
        *_request_protected(review, review.changed, configuration),
        *list_custom(Phase.review, configuration, context),
    ]
    text = "Once nothing blocks, {} asks a person with the role {}"
    return tuple(Reason(code=LATER, text=text.format(each.name, each.role)) for each in later)


def _is_covered(request: GateRequest, gates: Sequence[Gate]) -> bool:
    """Whether more than this was approved already, of which a part is disputed or gone."""
    approved = [gate for gate in gates if gate.name == request.name and gate.state is GateState.approved]
    return any(set(request.findings) < set(gate.request.findings) for gate in approved)


def apply_answers(review: Review, gates: Sequence[Gate]) -> Review:
    """Applies the answers to a review: accepted findings no longer block.

    No answer stands for the word that a credential in the history is revoked.

    :param gates: of this run.
    """
    approved = {(gate.name, gate.request.subject): gate for gate in gates if gate.state is GateState.approved}
    critical = _list_critical(review)
    accepted = set[str]()
    reasons: list[Reason] = []
    if (gate := approved.get(("security_findings", digest_findings(critical)))) is not None:
        accepted = {finding.fingerprint for finding in critical}
        reasons.append(_explain_approval(gate))
    findings = [finding for finding in review.findings if finding.fingerprint not in accepted]
    counting = raise_confirmed(findings, review.judged)
    verdict = decide(
        counting,
        review.risk,
        review.layers,
        review.not_looked_at,
        unread=review.unread,
        held_for=review.base_that_holds,
    )
    decision = verdict.decision
    base = _summarise_rest(review) if accepted and decision is Decision.approve else verdict.reasons
    gate = approved.get(("human_review", _digest_codes(verdict.reasons)))
    if decision is Decision.require_human and gate is not None:
        decision = Decision.approve
        reasons.append(_explain_approval(gate))
    others = [
        _explain_approval(gate)
        for (name, _), gate in approved.items()
        if name not in {"security_findings", "human_review"}
    ]
    kept, known = review.kept_approval, review.protected
    is_seen = bool(reasons or others) or bool(kept and known and {*review.unread.logic} <= {*known.paths})
    if decision is Decision.unread and not review.unread.paths and is_seen:
        decision = Decision.approve  # of a head whose logic only a person looked at
    if kept is not None:
        others.append(_explain_kept(kept))
    exposed = explain_exposed(review.in_history)
    if decision is Decision.request_changes:
        base = (*base, *exposed)
    elif exposed:
        decision, base = Decision.require_human, (*exposed, *base)
    return review.model_copy(
        update={
            "decision": decision,
            "reasons": (*reasons, *others, *base),
            "conclusion": CONCLUSIONS[decision],
        }
    )


def apply_blocking_gates(review: Review, gates: Sequence[Gate]) -> Review:
    """Applies waiting, rejected and expired gates to the answered review.

    A rejection fails; an expired or waiting gate needs a person (docs/contract.md, checks).
    """
    for state, conclusion in (
        (GateState.rejected, Conclusion.failure),
        (GateState.expired, Conclusion.action_required),
        (GateState.waiting, Conclusion.action_required),
    ):
        stopping = [gate for gate in gates if gate.state is state]
        if stopping:
            blocks = review.decision is Decision.request_changes
            return review.model_copy(
                update={
                    "decision": review.decision if blocks else Decision.require_human,
                    "reasons": (*(_explain_stop(gate) for gate in stopping), *review.reasons),
                    "conclusion": Conclusion.failure if blocks else conclusion,
                }
            )
    return review


def list_unapproved(wanted: Sequence[GateRequest], gates: Sequence[Gate]) -> list[GateRequest]:
    """The requests that nobody has approved."""
    approved = {(gate.name, gate.request.subject) for gate in gates if gate.state is GateState.approved}
    return [each for each in wanted if (each.name, each.subject) not in approved]


def mark_open(review: Review, wanted: Sequence[GateRequest]) -> Review:
    """Marks a review as not approved while questions are still to be asked."""
    if not wanted:
        return review
    blocks = review.decision is Decision.request_changes
    reasons = [Reason(code=UNASKED, text=f"{each.name} comes next") for each in wanted]
    return review.model_copy(
        update={
            "decision": review.decision if blocks else Decision.require_human,
            "reasons": (*reasons, *review.reasons),
            "conclusion": Conclusion.failure if blocks else Conclusion.action_required,
        }
    )


def list_answered(gates: Sequence[Gate]) -> set[str]:
    """The findings that ``destructive`` was approved with, of which nobody has to say once more whether they are right.

    :param gates: of this run.
    """
    approved = [gate for gate in gates if gate.name == "destructive" and gate.state is GateState.approved]
    return {each for gate in approved for each in gate.request.findings}


def list_still_accepted(found: Iterable[Finding], accepted: Collection[str]) -> set[str]:
    """Those of the findings that an approval of ``destructive`` covers at later heads, too: failing tests.

    :param accepted: fingerprints of what it was approved for.
    """
    return {each.fingerprint for each in found if each.rule == AvoidanceKind.failure_hidden.rule} & {*accepted}


def needs_security_gate(finding: Finding) -> bool:
    """Whether it needs the gate ``security_findings``: critical, and of the security layer or category."""
    return finding.severity is Severity.critical and (
        finding.category is Category.security or finding.layer is Layer.security  # includes vulnerable dependencies
    )


def find_role_to_dismiss(found: Sequence[Finding]) -> str:
    """The role for a dismissal of these findings, where the repository asks for no higher one."""
    if any(map(needs_security_gate, found)):
        return STANDARD_GATES["security_findings"].role
    return find_role(Verb.dismiss)


def find_role_to_review(review: Review) -> str:
    """The role of the people whom a review is left to, where the repository asks for no higher one."""
    is_grave = review.risk.level is RiskLevel.critical or review.base_that_holds
    return "maintain" if is_grave else STANDARD_GATES["human_review"].role


def list_protected(paths: Sequence[str], configuration: Configuration) -> list[str]:
    """Those of these paths that ask ``protected_paths``."""
    return select_asked(paths, configuration.paths.protected)


def digest_subject(protected: ProtectedContents) -> str:
    """The subject of ``protected_paths``: an answer is about exactly these contents."""
    return digest(*protected.paths, protected.digest)


def list_custom(
    phase: Phase,
    configuration: Configuration,
    context: Mapping[str, Fact],
    *about: object,
    known: Sequence[Gate] = (),
    has_follower: bool = False,
) -> list[GateRequest]:
    """Lists the repository's own gates of a phase whose condition is true, or was true when they were asked.

    :param context: the values for conditions.
    :param about: the subject of the approval, such as a commit; another subject asks again.
    :param has_follower: see :class:`GateRequest`.
    :param known: the gates asked before: their answers stay even if the condition is no longer true.
    """
    asked = {(gate.name, gate.request.subject) for gate in known if gate.state is not GateState.void}
    gates = ((name, gate, Condition(gate.when or "true")) for name, gate in configuration.gates.items())
    mine = [each for each in gates if each[0] not in STANDARD_GATES and _applies_in(phase, each[1], each[2])]
    judged = [(name, gate, condition.holds(context)) for name, gate, condition in mine]
    requests = [
        (_build_custom(name, gate, phase, reason, about, has_follower=has_follower), holds)
        for name, gate, (holds, reason) in judged
    ]
    return [each for each, holds in requests if holds or (each.name, each.subject) in asked]


def has_custom(phase: Phase, configuration: Configuration) -> bool:
    """Whether the repository has a gate of its own for a phase."""
    others = [gate for name, gate in configuration.gates.items() if name not in STANDARD_GATES]
    return any(_applies_in(phase, gate, Condition(gate.when or "true")) for gate in others)


def _applies_in(phase: Phase, gate: GateSettings, condition: Condition) -> bool:
    """A gate for any phase applies where all names of its condition are known."""
    return phase in condition.phases if gate.phase == "any" else gate.phase == phase.value


def _build_custom(
    name: str, gate: GateSettings, phase: Phase, reason: Reason, about: Sequence[object], *, has_follower: bool
) -> GateRequest:
    rejected = "the run ends, and the check fails" if phase is Phase.review else "the run ends"
    timeout = OWN_TIMEOUT if gate.timeout is None else parse_duration(gate.timeout)
    return GateRequest(
        name=name,
        phase=phase,
        subject=digest(gate.when, gate.prompt, *about),
        prompt=gate.prompt or "",
        reasons=(reason,),
        role=gate.role or "write",
        not_author=True,
        not_requester=False,
        seconds=timeout.total_seconds(),
        options=default_options(name, rejected, has_follower=has_follower),
        has_follower=has_follower,
        escalate=gate.escalate,
    )


def _request_security(review: Review, configuration: Configuration) -> list[GateRequest]:
    critical = _list_critical(review)
    if not critical:
        return []
    noun = "finding" if len(critical) == 1 else "findings"
    reason = Reason(
        code="security.critical",
        text=f"{len(critical)} critical security {noun}",
        value=len(critical),
        threshold=1,
        children=tuple(Reason(code=each.rule, text=f"{each.id} {each.rule} in {each.where}") for each in critical),
    )
    prompt = "A critical security finding stops this pull request. Approve only to accept the risk as it is."
    return [
        build_request(
            "security_findings",
            Phase.review,
            digest_findings(critical),
            prompt,
            [reason],
            configuration,
            has_follower=False,
        )
    ]


def _request_human(review: Review, configuration: Configuration, gates: Sequence[Gate]) -> list[GateRequest]:
    rest = review.model_copy(update={"in_history": ()})  # an approval says nothing of what has to be revoked
    base = apply_answers(rest, [gate for gate in gates if gate.name != "human_review"])
    if base.decision is not Decision.require_human:
        return []
    reasons = [reason for reason in base.reasons if not reason.code.startswith("gate.")]
    prompt = "Forge cannot approve this on its own. Approve if you reviewed the change and it is right."
    return [
        build_request(
            "human_review",
            Phase.review,
            _digest_codes(reasons),
            prompt,
            reasons,
            configuration,
            role=find_role_to_review(review),
            has_follower=False,
        )
    ]


def _request_protected(review: Review, paths: Sequence[str], configuration: Configuration) -> list[GateRequest]:
    touched = list_protected(paths, configuration)
    known = review.protected if review.protected and {*touched} <= {*review.protected.paths} else None
    if not touched or (known and review.kept_approval):
        return []
    shown = [path for path in touched if review.renamed.get(path) not in touched]  # a rename is one change
    noun = "path" if len(shown) == 1 else "paths"
    children = _explain_paths(shown[:20])
    reason = Reason(
        code="paths.protected", text=f"{len(shown)} protected {noun} changed", value=len(shown), children=children
    )
    prompt = "This changes protected files, for the reasons below. Approve if that is intended."
    subject = digest(*touched) if known is None else digest_subject(known)
    return [
        build_request("protected_paths", Phase.review, subject, prompt, [reason], configuration, has_follower=False)
    ]


def _explain_paths(paths: Sequence[str]) -> tuple[Reason, ...]:
    """What reads each of some files; several of one reader stand below what that is, which is said once."""
    alike: dict[str, list[str]] = {}
    for path in paths:
        alike.setdefault(explain_protection(path), []).append(path)
    return tuple(
        Reason(code="path", text=f"{named[0]} ({why})")
        if len(named) == 1
        else Reason(code="path", text=why, children=tuple(Reason(code="path", text=path) for path in named))
        for why, named in alike.items()
    )


def _list_critical(review: Review) -> list[Finding]:
    return [finding for finding in review.findings if needs_security_gate(finding)]


def _digest_codes(reasons: Sequence[Reason]) -> str:
    """A digest of the reasons that ignores their numbers."""
    return digest(*sorted({reason.code for reason in reasons if not reason.code.startswith("gate.")}))


def _summarise_rest(review: Review) -> tuple[Reason, ...]:
    return (Reason(code="risk.level", text="Nothing else blocks", value=review.risk.score),)


def _explain_approval(gate: Gate) -> Reason:
    by = gate.decision.by_login if gate.decision is not None else ""
    text = f"{by} approved {gate.name}"
    return Reason(code="gate.approved", text=f"{text}, on conditions: {gate.conditions}" if gate.conditions else text)


def _explain_kept(kept: KeptApproval) -> Reason:
    text = f"{kept.by} approved protected_paths at {kept.head_sha[:7]}, and these files are as they were"
    return Reason(code="gate.approved", text=text)


def _explain_stop(gate: Gate) -> Reason:
    match gate.state:
        case GateState.rejected:
            by = gate.decision.by_login if gate.decision is not None else ""
            words = f": {gate.decision.words}" if gate.decision is not None and gate.decision.words else ""
            return Reason(code="gate.rejected", text=f"{by} rejected {gate.name}{words}")
        case GateState.expired:
            return Reason(code="gate.expired", text=f"Nobody answered {gate.name} in time")
        case _ if gate.request.lone_author:
            [asked, *_] = gate.request.reasons
            text = f"{asked.text}, and nobody but {gate.request.lone_author} may approve that"
            return asked.model_copy(update={"code": ASKS_LONE_AUTHOR, "text": text})
        case _:
            return Reason(
                code="gate.waiting", text=f"{gate.name} is waiting for a person with the role {gate.request.role}"
            )
