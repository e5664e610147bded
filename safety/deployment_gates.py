"""Decides what a deployment has to be asked: before it begins, and when its service is not well."""

from collections.abc import Sequence

from domain.config.configuration import Configuration
from domain.deployments.deployment import Cause
from domain.gates import GateRequest, Option, digest
from domain.runs.run import Phase
from domain.verdicts import Reason
from safety.avoidance_gates import build_request

PRODUCTION, STAGING, HOLD = "production_deploy", "staging_deploy", "deploy_hold"


def request_production(
    configuration: Configuration, environment: str, sha: str, run_id: str, reasons: Sequence[Reason], shows: str
) -> GateRequest:
    """Asks whether a commit may go to production. Nothing answers that but a person."""
    return build_request(
        PRODUCTION,
        Phase.deployment,
        digest(run_id, environment, sha),
        f"Deploy {sha[:7]} to {environment}?",
        reasons,
        configuration,
        options=_options(PRODUCTION, "it is deployed, step by step", "nothing is deployed"),
        shows=shows,
        has_follower=False,
    )


def request_staging(
    configuration: Configuration,
    environment: str,
    sha: str,
    run_id: str,
    reason: Reason,
    shows: str,
) -> GateRequest:
    """Asks whether something may go to another environment: the level does not allow it, or somebody refused it."""
    return build_request(
        STAGING,
        Phase.deployment,
        digest(run_id, environment, sha),
        f"Deploy {sha[:7]} to {environment}?",
        [reason],
        configuration,
        options=_options(STAGING, "it is deployed, step by step", "nothing is deployed"),
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
