"""What a deployment needs to know of its change and its environment, read once when its turn comes."""

from collections.abc import Sequence
from datetime import timedelta

from pydantic import BaseModel, ConfigDict

from domain.config.configuration import Configuration
from domain.config.deploy import Environment
from domain.deployments.deployment import Deployment
from domain.github.merging import ReportedCheck
from domain.review.review import Review
from domain.runs.run import Run
from domain.text.escaping import escape, inline_code
from memory.repositories import permits
from memory.runs import checkpoints, outbox, runs
from pipeline.config import loading
from pipeline.context import Services
from safety.gates import list_protected

_OWN = "Forge / "


class DeploymentPlan(BaseModel):
    """How a commit gets to its environment.

    :param obstacle: why it cannot be deployed, for people; empty if it can.
    :param facts: what is known of the change, in Markdown.
    :param requester: login of who merged or asked.
    :param numbers: where its end is told: its pull request, and the issue that led to it.
    """

    model_config = ConfigDict(frozen=True)

    configuration: Configuration
    environment: Environment
    stages: tuple[int, ...]
    obstacle: str = ""
    facts: tuple[str, ...] = ()
    requester: str = ""
    touches_protected: bool = True
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
    ceilings = services.ceilings.of_configuration
    loaded = await loading.load(services.host, services.database, run.repository, ceilings)
    configuration = loaded.configuration
    environment = configuration.deploy.environments.get(deployment.environment)
    branch = await services.host.default_branch(run.repository)
    obstacle = await _find_obstacle(services, run, deployment, environment)
    review = await load_review_of(services, run.repository.id, run.number)
    owner = await outbox.find_proposing_run(services.database, run.repository.id, run.number)
    issue = None if owner is None else await runs.get(services.database, owner)
    return DeploymentPlan(
        configuration=configuration,
        environment=environment or Environment(),
        stages=() if environment is None else environment.strategy.choose(deployment.risk),
        obstacle=obstacle,
        facts=_list_facts(review),
        requester=deployment.ordered_by,
        touches_protected=review is None or bool(list_protected(review.changed, configuration)),
        numbers=(run.number,) if issue is None else (run.number, issue.number),
        default_branch=branch.name,
    )


async def load_review_of(services: Services, repository_id: int, number: int) -> Review | None:
    """The newest review of a pull request; None if there is none."""
    for past in await runs.list_for_pull_request(services.database, repository_id, number):
        if not past.run.is_of_issue and (found := await checkpoints.load_review(services.database, past.run)):
            return found
    return None


async def _find_obstacle(services: Services, run: Run, deployment: Deployment, environment: Environment | None) -> str:
    if environment is None:
        return f"`.github/forge.yml` has no environment {inline_code(deployment.environment)} any more."
    if environment.trigger == "never":
        return "`.github/forge.yml` says `trigger: never` for this environment now."
    paused_by = await permits.find_pauser(services.database, run.repository)
    return "" if paused_by is None else f"{paused_by} paused Forge in this repository."


def _list_facts(review: Review | None) -> tuple[str, ...]:
    if review is None:
        return ("Forge did not review this change.",)
    risk = f"Risk: {review.risk.level.value}, {review.risk.score} of 100"
    open_ = [f"{inline_code(each.id)} {escape(each.message, 150)}" for each in review.findings[:5]]
    told = f"Open findings of the review: {len(review.findings)}" + (f": {'; '.join(open_)}" if open_ else "")
    return (risk, f"Verdict of the review: {review.decision.value.replace('_', ' ')}", told)


def describe_checks(reported: Sequence[ReportedCheck]) -> str:
    """What the checks of the merged commit say, in Markdown."""
    others = [each for each in reported if not each.name.startswith(_OWN)]
    if not others:
        return "Checks of the merged commit: none were reported."
    named = ", ".join(f"{inline_code(each.name)} {each.conclusion}" for each in others[:10])
    return f"Checks of the merged commit: {named}"
