"""What a deployment needs to know of its change and its environment, read once when its turn comes."""

from datetime import timedelta

from domain.config.configuration import Configuration
from domain.config.deploy import Environment
from domain.deployments.deployment import Cause, Deployment
from domain.review.review import RiskLevel
from domain.runs.run import Run
from domain.text.escaping import inline_code
from domain.value import Value
from memory.deployments import deployments
from memory.repositories import permits
from memory.runs import outbox, runs
from pipeline.config import loading
from pipeline.context import Services
from pipeline.deployment.contents import load_contents
from pipeline.deployment.facts import (
    describe_change,
    describe_checks,
    describe_contents,
    describe_failure,
    describe_review,
    load_review_of,
)


class DeploymentPlan(Value):
    """How a commit gets to its environment.

    :param obstacle: why it cannot be deployed, for people; empty if it can.
    :param facts: what is known of the change, in Markdown.
    :param requester: login of who merged or asked.
    :param risk: of all that goes live; None: it is not known.
    :param refused: what of it somebody refused there before, in words.
    :param numbers: where its end is told: its pull request, and the issue that led to it.
    """

    configuration: Configuration
    environment: Environment
    stages: tuple[int, ...]
    obstacle: str = ""
    facts: tuple[str, ...] = ()
    requester: str = ""
    touches_protected: bool = True
    risk: RiskLevel | None = None
    refused: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    default_branch: str = ""

    @property
    def step_time(self) -> timedelta:
        """How long one step may take."""
        minutes = self.environment.minutes or self.configuration.breakers.time.deployment
        return timedelta(minutes=minutes)

    @property
    def build_command(self) -> str | None:
        return self.configuration.deploy.build.command or self.configuration.commands.build


async def load_plan(services: Services, run: Run, deployment: Deployment) -> DeploymentPlan:
    """Read the configuration as it is now, and what the review found."""
    loaded = await loading.load_live(services, run.repository)
    configuration = loaded.configuration
    environment = configuration.deploy.environments.get(deployment.environment)
    branch = await services.host.default_branch(run.repository)
    obstacle = await _find_obstacle(services, run, deployment, environment)
    review = await load_review_of(services, run.repository.id, run.number)
    contents = (
        None if deployment.cause is Cause.rollback else await load_contents(services, run, deployment, configuration)
    )
    failed = await deployments.find_failure(services.database, run.repository.id, deployment.environment)
    if deployment.cause is Cause.rollback:
        risk = deployment.risk
    else:  # the first deployment brings everything, and nobody knows what a failed one left
        risk = None if contents is None or failed is not None else contents.risk
    await deployments.keep_risk(services.database, run.id, risk)
    facts = (
        *describe_failure(failed),
        *await describe_change(services, run, deployment),
        *describe_contents(contents),
        *describe_review(review if contents is not None and contents.is_as_reviewed(run.number) else None),
        *await describe_checks(services, run, review),
    )
    owner = await outbox.find_proposing_run(services.database, run.repository.id, run.number)
    issue = None if owner is None else await runs.get(services.database, owner)
    return DeploymentPlan(
        configuration=configuration,
        environment=environment or Environment(),
        stages=() if environment is None else environment.strategy.choose(risk),
        obstacle=obstacle,
        facts=facts,
        requester=deployment.ordered_by,
        touches_protected=contents is None or contents.touches_protected,
        risk=risk,
        refused=() if contents is None else tuple(contents.refusals),
        numbers=(run.number,) if issue is None else (run.number, issue.number),
        default_branch=branch.name,
    )


async def _find_obstacle(services: Services, run: Run, deployment: Deployment, environment: Environment | None) -> str:
    if environment is None:
        return f"`.github/forge.yml` has no environment {inline_code(deployment.environment)} any more."
    if environment.trigger == "never":
        return "`.github/forge.yml` says `trigger: never` for this environment now."
    paused_by = await permits.find_pauser(services.database, run.repository)
    return "" if paused_by is None else f"{paused_by} paused Forge in this repository."
