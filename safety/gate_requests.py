"""Builds the requests of built-in gates as the repository configured them: of giving up, and of deployments."""

from collections.abc import Collection, Sequence

from domain.config.configuration import Configuration
from domain.config.sections import AvoidanceReaction, GateSettings
from domain.config.values import parse_duration
from domain.deployments.deployment import Cause
from domain.gates import STANDARD_GATES, GateRequest, Option, digest
from domain.money import NO_EXTENSION, BudgetExtension
from domain.review.avoidance import CERTAIN, INSTEAD, TITLES, AvoidanceKind, is_critical
from domain.review.feedback import FindingFeedback, Word
from domain.review.findings import Finding, Layer
from domain.review.review import JudgedFindings, Review
from domain.runs.run import Phase
from domain.verdicts import Reason
from safety.authorization import AuthorizationFacts, refuse_role

_NOTE = "the run continues; your words are kept with the decision"
_STRICTER = ("write", "maintain", "admin")
_SHOWN = 10
_BY_RULE = {kind.rule: kind for kind in AvoidanceKind}
OVERRULING_ROLE = "maintain"
_LOOKS_AT_DESTRUCTIVE = (
    Option(command="/forge diff destructive", effect="shows these places before and after"),
    Option(command="/forge suggest destructive", effect="shows what could be done instead"),
)


PRODUCTION, STAGING, HOLD = "production_deploy", "staging_deploy", "deploy_hold"


def request_deployment(
    name: str,
    configuration: Configuration,
    environment: str,
    sha: str,
    run_id: str,
    reason: Reason,
    shows: str,
) -> GateRequest:
    """Asks whether a commit may go to an environment.

    :param name: ``PRODUCTION``, where nothing but a person answers; or ``STAGING``, where the level does not allow it,
        or somebody refused it.
    """
    return build_request(
        name,
        Phase.deployment,
        digest(run_id, environment, sha),
        f"Deploy {sha[:7]} to {environment}?",
        [reason],
        configuration,
        options=_options(name, "it is deployed, step by step", "nothing is deployed"),
        shows=shows,
        has_follower=False,
    )


def request_hold(
    configuration: Configuration,
    environment: str,
    subject: Sequence[object],
    reason: Reason,
    shows: str,
    *,
    is_production: bool,
) -> GateRequest:
    """Asks whether a deployment that holds may go on.

    :param subject: the deployment, its step, and the occasion.
    """
    return build_request(
        HOLD,
        Phase.deployment,
        digest(*subject),
        f"The deployment to {environment} holds. Go on?",
        [reason],
        configuration,
        role="maintain" if is_production else None,
        options=_options(HOLD, "it goes on with the next step", "it is rolled back; so it is if nobody answers"),
        shows=shows,
        has_follower=False,
    )


def explain_cause(cause: Cause, who: str) -> Reason:
    """Why something is deployed."""
    told = {
        Cause.merge: f"{who} merged it",
        Cause.command: f"{who} asked for it",
        Cause.rollback: f"{who} asked for what was there before",
    }
    return Reason(code=f"deployment.{cause.value}", text=told[cause])


def _options(name: str, approved: str, rejected: str) -> tuple[Option, ...]:
    return (
        Option(command=f"/forge approve {name}", effect=approved),
        Option(command=f"/forge reject {name} reason", effect=rejected),
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
    has_follower: bool = True,
) -> GateRequest:
    """Builds the request of a built-in gate, as the repository configured it.

    :param role: a higher role than usual.
    :param options: the possible answers; approve and reject with their usual meaning by default.
    :param shows, has_follower: see :class:`GateRequest`.
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
        options=tuple(options) or default_options(name, has_follower=has_follower),
        escalate=configured.escalate,
        grants=grants,
        shows=shows,
        has_follower=has_follower,
    )


def default_options(
    name: str, rejected: str = "the run ends, and the check fails", *, has_follower: bool = True
) -> tuple[Option, ...]:
    """The answers to every gate.

    :param rejected: what a rejection does; :param has_follower: see :class:`GateRequest`.
    """
    conditions = "the run continues and keeps to the conditions" if has_follower else _NOTE
    words = "conditions" if has_follower else "note"
    return (
        Option(command=f"/forge approve {name}", effect="the run continues"),
        Option(command=f"/forge approve {name} with: {words}", effect=conditions),
        Option(command=f"/forge reject {name} reason", effect=rejected),
        Option(command=f"/forge delegate {name} @account", effect="asks someone else with permission to decide"),
    )


def strictest_role(*roles: str | None) -> str:
    """The highest of these roles."""
    return max((role for role in roles if role is not None), key=_STRICTER.index)


def request_destructive(
    review: Review, configuration: Configuration, accepted: Collection[str] = ()
) -> list[GateRequest]:
    """Ask before a change takes away what others rely on, such as a test that now fails.

    :param accepted: fingerprints of tests that were approved to fail at an earlier head.
    """
    found = [
        (each, kind)
        for each, kind in list_destructive(review, configuration)
        if kind is not AvoidanceKind.failure_hidden or each.fingerprint not in accepted
    ]
    if not found:
        return []
    kinds = dict.fromkeys(kind for _, kind in found)
    reasons = [
        _list_findings(
            f"{{}} {TITLES[kind]}. Instead, {INSTEAD.get(kind, 'fix the cause')}",
            kind.rule,
            [each for each, other in found if other is kind],
            review.judged.lapsed,
        )
        for kind in kinds
    ]
    asked = [each for each, _ in found]
    prompt = "This change takes away what others may rely on. Approve only if that is intended and justified."
    request = build_request(
        "destructive", Phase.review, digest_findings(asked), prompt, reasons, configuration, has_follower=False
    )
    needs_words = is_critical(asked)
    options = [each for each in request.options if not needs_words or each.command != "/forge approve destructive"]
    return [
        request.model_copy(
            update={
                "needs_words": needs_words,
                "options": (*options, *_LOOKS_AT_DESTRUCTIVE),
                "findings": tuple(each.fingerprint for each in asked),
            }
        )
    ]


def list_destructive(review: Review, configuration: Configuration) -> list[tuple[Finding, AvoidanceKind]]:
    """The findings that ``destructive`` asks about, with their kinds: certain ones of the kinds that are to ask.

    What is disputed is asked about first.
    """
    return [
        (each, kind)
        for each in review.findings
        if (kind := _BY_RULE.get(each.rule)) is not None
        and each.confidence >= CERTAIN
        and each.layer is not Layer.model  # what a model claims is a remark
        and not is_disputed(each, review.judged)
        and configuration.avoidance.of(kind) is AvoidanceReaction.gate
    ]


def request_false_positive(
    review: Review, configuration: Configuration, answered: Collection[str] = ()
) -> list[GateRequest]:
    """Ask whether findings are right that somebody disputes, or whose detector was often wrong in this repository.

    :param answered: fingerprints of findings that people let pass as they are; whether they are right changes nothing.
    """
    judged = review.judged
    disputed = [each for each in review.findings if is_disputed(each, judged) and each.fingerprint not in answered]
    doubted = [
        each
        for each in review.findings
        if each.is_doubted
        and each.fingerprint not in {*judged.confirmed, *judged.disputed}
        and _asks(each, configuration)
    ]
    if not (disputed or doubted):
        return []
    said = {each.fingerprint: judged.disputed[each.fingerprint] for each in disputed}
    noun = "finding is" if len(disputed) == 1 else "findings are"
    reasons = [
        *(
            [_list_findings(f"{len(disputed)} {noun} disputed", "avoidance.disputed", disputed, said)]
            if disputed
            else []
        ),
        *(
            [_list_findings("{} of a detector that was often wrong here", "avoidance.doubted", doubted, judged.lapsed)]
            if doubted
            else []
        ),
    ]
    asked = [*disputed, *doubted]
    prompt = "Is this giving up in disguise, or is Forge wrong? It needs your reason either way."
    request = build_request(
        "false_positive", Phase.review, digest_findings(asked), prompt, reasons, configuration, has_follower=False
    )
    return [
        request.model_copy(
            update={
                "needs_words": True,
                "options": _list_answers(asked),
                "findings": tuple(each.fingerprint for each in asked),
            }
        )
    ]


def list_mattering(review: Review, configuration: Configuration) -> set[str]:
    """The fingerprints of the findings of giving up that block, or that people are asked about."""
    asked = {each.fingerprint for each, _ in list_destructive(review, configuration)}
    blocking = {each.fingerprint for each in review.findings if each.rule in _BY_RULE and each.blocks}
    return asked | blocking | {*review.judged.disputed}


def is_disputed(finding: Finding, judged: JudgedFindings) -> bool:
    """Whether people are to decide if it is right."""
    return finding.fingerprint in judged.disputed and finding.fingerprint not in judged.confirmed


def may_overrule(said: FindingFeedback, facts: AuthorizationFacts, account: int) -> bool:
    """Whether somebody may take back or change what was said: their own word, or with this role that of others.

    What makes a change pass is anybody's to take back. The author never takes back what was said against the change.
    """
    if said.word is not Word.confirmed:
        return True
    is_own = said.by_id == account
    return not facts.is_author and (is_own or refuse_role(facts.role, OVERRULING_ROLE) is None)


def _asks(finding: Finding, configuration: Configuration) -> bool:
    kind = _BY_RULE.get(finding.rule)
    return kind is not None and configuration.avoidance.of(kind) is AvoidanceReaction.gate


def _list_findings(text: str, code: str, found: Sequence[Finding], said: dict[str, str]) -> Reason:
    """One reason with its findings.

    :param text: ``{}`` stands for their number.
    :param said: fingerprint → what is to be added.
    """
    count = f"{len(found)} {'finding' if len(found) == 1 else 'findings'}:"
    more = [Reason(code=code, text=f"and {len(found) - _SHOWN} more")] if len(found) > _SHOWN else []
    return Reason(
        code=code,
        text=text.format(count).replace(": of", " of"),
        value=len(found),
        children=(
            *(
                Reason(
                    code=each.rule,
                    text=f"{each.id} in {each.where}: {each.message.partition('. ')[0]}"
                    + (f" ({said[each.fingerprint]})" if each.fingerprint in said else ""),
                )
                for each in found[:_SHOWN]
            ),
            *more,
        ),
    )


def digest_findings(found: Sequence[Finding]) -> str:
    return digest(*sorted(each.fingerprint for each in found))


def _list_answers(asked: Sequence[Finding]) -> tuple[Option, ...]:
    name = asked[0].id if len(asked) == 1 else "F-ID"
    for_all = (
        Option(command="/forge approve false_positive with: why", effect="dismisses all of them"),
        Option(command="/forge reject false_positive why", effect="confirms all of them"),
    )
    return (
        Option(
            command=f"/forge dismiss {name} why",
            effect="it is wrong: it counts no more, and its detector is believed less here",
        ),
        Option(command=f"/forge confirm {name} why", effect="it is right: it blocks until it is mended"),
        *(for_all if len(asked) > 1 else ()),
        Option(
            command=f"/forge dismiss {name} file: why",
            effect="it is wrong, and such findings pass in this file for 90 days; with `repository:`, everywhere",
        ),
        Option(command="/forge diff false_positive", effect="shows these places before and after"),
        Option(command=f"/forge history {name}", effect="shows what this detector found here, and what became of it"),
        Option(command="/forge delegate false_positive @account", effect="asks someone else with permission to decide"),
    )
