"""Decides what people are asked about a review, and what its verdict is once they answered."""

from collections.abc import Mapping, Sequence

from domain.config.conditions.evaluation import Condition, Value, parse
from domain.config.configuration import Configuration
from domain.config.gates import GateSettings
from domain.config.values import parse_duration
from domain.gates import OWN_TIMEOUT, STANDARD_GATES, Gate, GateRequest, GateState, Option, digest
from domain.globs import matches
from domain.memories.memory_file import PATH
from domain.money import NO_EXTENSION, BudgetExtension
from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.review import Conclusion, Decision, Review, RiskLevel
from domain.runs.run import Phase
from domain.verdicts import Reason
from safety.review_decision import CONCLUSIONS, decide

STEERS_GIT = (".gitmodules", "**/.gitattributes")
"""What git fetches and runs, and what a review is shown: agents never change it, whoever would let them."""

ALWAYS_PROTECTED = (
    ".github/workflows/**",
    ".github/actions/**",
    "**/action.yml",
    "**/action.yaml",
    ".github/dependabot.yml",
    ".github/dependabot.yaml",
    ".github/forge.yml",
    PATH,
    *STEERS_GIT,
    "CODEOWNERS",
    ".github/CODEOWNERS",
    "docs/CODEOWNERS",
)
"""What decides who may do what, what is run and what Forge is told: a change by anybody asks ``protected_paths``."""

OF_OTHER_PHASES = frozenset(STANDARD_GATES) - {"security_findings", "human_review", "protected_paths"}
"""The gates that a drawn review neither asks nor settles."""

UNASKED = "gate.unasked"
"""The reason of a verdict that a dismissal changed before everything was asked."""

_STRICTER = ("write", "maintain", "admin")


def list_requests(
    review: Review,
    paths: Sequence[str],
    configuration: Configuration,
    context: Mapping[str, Value],
    gates: Sequence[Gate] = (),
) -> list[GateRequest]:
    """What a review has to ask before it may end, the gravest first.

    What the author has to mend anyway is not put before people: a push would make their answer void. A critical
    security finding is, at once.

    :param review: with the dismissals, without the answers.
    :param paths: every changed path, also those that were not looked at.
    :param context: what conditions of the repository's own gates may speak of.
    :param gates: what was asked before.
    """
    asked = _request_security(review, configuration)
    if apply_answers(review, gates).decision is Decision.request_changes:
        return asked
    return [
        *asked,
        *_request_human(review, configuration, gates),
        *_request_protected(review, paths, configuration),
        *list_custom(Phase.review, configuration, context),
    ]


def apply_answers(review: Review, gates: Sequence[Gate]) -> Review:
    """The review with what people answered: what they accepted does not block any more.

    :param gates: of this run.
    """
    approved = {(gate.name, gate.request.subject): gate for gate in gates if gate.state is GateState.approved}
    critical = _list_critical(review)
    accepted = set[str]()
    reasons: list[Reason] = []
    if (gate := approved.get(("security_findings", _digest_findings(critical)))) is not None:
        accepted = {finding.fingerprint for finding in critical}
        reasons.append(_explain_approval(gate))
    findings = [finding for finding in review.findings if finding.fingerprint not in accepted]
    verdict = decide(findings, review.risk, review.layers, review.not_looked_at, review.in_history, review.unread)
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
    return review.model_copy(
        update={
            "decision": decision,
            "reasons": (*reasons, *others, *base),
            "conclusion": CONCLUSIONS[decision],
        }
    )


def apply_blocking_gates(review: Review, gates: Sequence[Gate]) -> Review:
    """The answered review as it stands while gates wait, or after one of them was not passed.

    A rejection is a failure; time that ran out, or a gate that waits, asks for a person (docs/contract.md, checks).
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
    """What is wanted and nobody has approved."""
    approved = {(gate.name, gate.request.subject) for gate in gates if gate.state is GateState.approved}
    return [each for each in wanted if (each.name, each.subject) not in approved]


def mark_open(review: Review, wanted: Sequence[GateRequest]) -> Review:
    """The answered review where something has still to be asked: it is no approval before that."""
    if not wanted:
        return review
    blocks = review.decision is Decision.request_changes
    reasons = [Reason(code=UNASKED, text=f"{each.name} is asked next") for each in wanted]
    return review.model_copy(
        update={
            "decision": review.decision if blocks else Decision.require_human,
            "reasons": (*reasons, *review.reasons),
            "conclusion": Conclusion.failure if blocks else Conclusion.action_required,
        }
    )


def is_grave(finding: Finding) -> bool:
    """Whether ``security_findings`` is asked about it: critical, and of the security layer or category."""
    return finding.severity is Severity.critical and (
        finding.category is Category.security or finding.layer is Layer.security  # vulnerable dependencies, too
    )


def list_protected(paths: Sequence[str], configuration: Configuration) -> list[str]:
    """Those of the paths that are protected."""
    return sorted(path for path in paths if matches(path, (*ALWAYS_PROTECTED, *configuration.paths.protected)))


def list_custom(
    phase: Phase,
    configuration: Configuration,
    context: Mapping[str, Value],
    *about: object,
    known: Sequence[Gate] = (),
) -> list[GateRequest]:
    """The gates the repository defined for a phase, where their condition holds, or held when they were asked.

    :param context: what conditions may speak of.
    :param about: what a person approves with the question, such as a commit: about another one they are asked anew.
    :param known: what was asked before: that its condition holds no more takes no answer back.
    """
    asked = {(gate.name, gate.request.subject) for gate in known if gate.state is not GateState.void}
    gates = ((name, gate, parse(gate.when or "true")) for name, gate in configuration.gates.items())
    mine = [each for each in gates if each[0] not in STANDARD_GATES and _applies_in(phase, each[1], each[2])]
    judged = [(name, gate, condition.holds(context)) for name, gate, condition in mine]
    requests = [(_build_custom(name, gate, phase, reason, about), holds) for name, gate, (holds, reason) in judged]
    return [each for each, holds in requests if holds or (each.name, each.subject) in asked]


def has_custom(phase: Phase, configuration: Configuration) -> bool:
    """Whether the repository defined a gate that may be asked in a phase."""
    others = [gate for name, gate in configuration.gates.items() if name not in STANDARD_GATES]
    return any(_applies_in(phase, gate, parse(gate.when or "true")) for gate in others)


def _applies_in(phase: Phase, gate: GateSettings, condition: Condition) -> bool:
    """One of any phase is asked where all that its condition names is known."""
    return phase in condition.phases if gate.phase == "any" else gate.phase == phase.value


def _build_custom(name: str, gate: GateSettings, phase: Phase, reason: Reason, about: Sequence[object]) -> GateRequest:
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
        options=default_options(name, "the run ends, and the check fails" if phase is Phase.review else "the run ends"),
        escalate=gate.escalate,
    )


def build_request(
    name: str,
    phase: Phase,
    subject: str,
    prompt: str,
    reasons: Sequence[Reason],
    configuration: Configuration,
    *,
    role: str | None = None,
    options: Sequence[Option] = (),
    grants: BudgetExtension = NO_EXTENSION,
    shows: str = "",
) -> GateRequest:
    """The request of a gate that Forge brings along, as the repository configured it.

    :param role: a higher one than usual.
    :param options: what can be answered; approve and reject with their usual meaning if left out.
    :param shows: see :class:`GateRequest`.
    """
    standard, configured = STANDARD_GATES[name], configuration.gates.get(name, GateSettings())
    timeout = standard.timeout if configured.timeout is None else parse_duration(configured.timeout)
    return GateRequest(
        name=name,
        phase=phase,
        subject=subject,
        prompt=prompt,
        reasons=tuple(reasons),
        role=strictest_role(standard.role, role, configured.role),
        not_author=standard.not_author,
        not_requester=standard.not_requester,
        seconds=timeout.total_seconds(),
        options=tuple(options) or default_options(name),
        escalate=configured.escalate,
        grants=grants,
        shows=shows,
    )


def default_options(name: str, rejected: str = "the run ends, and the check fails") -> tuple[Option, ...]:
    """The answers that every gate takes.

    :param rejected: what a rejection does.
    """
    return (
        Option(command=f"/forge approve {name}", effect="the run goes on"),
        Option(command=f"/forge approve {name} with: conditions", effect="it goes on, and the conditions go with it"),
        Option(command=f"/forge reject {name} reason", effect=rejected),
        Option(command=f"/forge delegate {name} @account", effect="asks somebody else who may decide"),
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
        build_request("security_findings", Phase.review, _digest_findings(critical), prompt, [reason], configuration)
    ]


def _request_human(review: Review, configuration: Configuration, gates: Sequence[Gate]) -> list[GateRequest]:
    base = apply_answers(review, [gate for gate in gates if gate.name != "human_review"])
    if base.decision is not Decision.require_human:
        return []
    reasons = [reason for reason in base.reasons if not reason.code.startswith("gate.")]
    role = "maintain" if review.risk.level is RiskLevel.critical else None
    prompt = "The review cannot approve this by itself. Approve if you looked at the change and it is right."
    return [
        build_request("human_review", Phase.review, _digest_codes(reasons), prompt, reasons, configuration, role=role)
    ]


def _request_protected(review: Review, paths: Sequence[str], configuration: Configuration) -> list[GateRequest]:
    touched = list_protected(paths, configuration)
    if not touched:
        return []
    children = tuple(Reason(code="path", text=path) for path in touched[:20])
    noun = "path" if len(touched) == 1 else "paths"
    reason = Reason(
        code="paths.protected", text=f"{len(touched)} protected {noun} changed", value=len(touched), children=children
    )
    prompt = "This changes protected files, which decide what is run or who may do what. Approve if that is meant."
    return [build_request("protected_paths", Phase.review, digest(*touched), prompt, [reason], configuration)]


def _list_critical(review: Review) -> list[Finding]:
    return [finding for finding in review.findings if is_grave(finding)]


def _digest_findings(findings: Sequence[Finding]) -> str:
    return digest(*sorted(finding.fingerprint for finding in findings))


def _digest_codes(reasons: Sequence[Reason]) -> str:
    """What a person is asked to look at, whatever the numbers behind it are."""
    return digest(*sorted({reason.code for reason in reasons if not reason.code.startswith("gate.")}))


def _summarise_rest(review: Review) -> tuple[Reason, ...]:
    risk = review.risk
    text = f"Nothing else blocks; risk is {risk.level.value} ({risk.score} of 100)"
    return (Reason(code="risk.level", text=text, value=risk.score),)


def _explain_approval(gate: Gate) -> Reason:
    by = gate.decision.by_login if gate.decision is not None else ""
    text = f"{by} approved {gate.name}"
    return Reason(code="gate.approved", text=f"{text}, on conditions: {gate.conditions}" if gate.conditions else text)


def _explain_stop(gate: Gate) -> Reason:
    match gate.state:
        case GateState.rejected:
            by = gate.decision.by_login if gate.decision is not None else ""
            words = f": {gate.decision.words}" if gate.decision is not None and gate.decision.words else ""
            return Reason(code="gate.rejected", text=f"{by} rejected {gate.name}{words}")
        case GateState.expired:
            return Reason(code="gate.expired", text=f"Nobody answered {gate.name} in time")
        case _:
            return Reason(
                code="gate.waiting", text=f"{gate.name} waits for a person with {gate.request.role} permission"
            )


def strictest_role(*roles: str | None) -> str:
    """The highest of these roles."""
    return max((role for role in roles if role is not None), key=_STRICTER.index)
