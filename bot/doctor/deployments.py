"""Checks whether Forge can deploy where a repository's configuration says so."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

from pydantic import JsonValue, ValidationError

from bot.deploy_access import load_deploy_access
from bot.doctor.configurations import load_configurations
from bot.doctor.diagnosis import Diagnosis, fail, ok, warn
from bot.github.host import GitHubHost
from bot.settings import Settings
from domain.config.deploy import DeploySettings, Environment
from domain.deployments.access import DeployAccesses
from domain.errors import ForgeError
from workspace.sandbox.probing import probe, select_levels
from workspace.sandbox.sandbox import BUBBLEWRAP

_NEEDED = {"actions": "write", "deployments": "write"}
_PART = "deployments"


async def check_deployments(settings: Settings, host: GitHubHost) -> AsyncGenerator[Diagnosis]:
    """What GitHub, the sandbox and the operator let Forge deploy; nothing if no configuration has an environment."""
    environments = await _load_environments(settings)
    if not environments:
        return
    try:
        _, missing = await host.examine_app(_NEEDED)
    except ForgeError:  # the check of GitHub says why
        return
    yield check_permissions(len(environments), missing)
    by_command = sum(each.command is not None for each in environments)
    if not by_command:
        return
    try:
        access = load_deploy_access(settings.deploy_access)
        levels = select_levels(await probe(settings.sandbox_user), settings.sandbox)
        best = max((each.level for each in levels if each.works), default=0)
    except ForgeError as error:
        yield fail(_PART, error.message, error.advice)
        return
    yield check_commands(by_command, access, best)


def check_permissions(environments: int, missing: Sequence[str]) -> Diagnosis:
    """Whether the App may start workflows and record deployments.

    :param environments: how many are configured.
    """
    state = f"{environments} environment{'' if environments == 1 else 's'} in the repositories' configurations"
    if missing:
        advice = "Grant them in the App's settings, and accept that in each installation."
        return fail(_PART, f"{state}, but the App lacks {', '.join(missing)}", advice)
    return ok(_PART, f"{state}, and the App may deploy")


def check_commands(by_command: int, access: DeployAccesses, level: int) -> Diagnosis:
    """Whether commands that deploy reach and know what the operator allows.

    :param by_command: how many environments are deployed by a command.
    :param level: of the sandbox.
    """
    state = f"{by_command} of them by a command"
    if not access:
        advice = "Name what they need in the file of FORGE_DEPLOY_ACCESS (docs/deployments.md)."
        return warn(_PART, f"{state}, which reaches nothing and knows no secret", advice)
    if level < BUBBLEWRAP and any(each.host for each in access.values()):
        advice = f"Install bubblewrap, so that level {BUBBLEWRAP} works."
        return warn(_PART, f"{state}, which reach no address at sandbox level {level}", advice)
    return ok(_PART, f"{state}; FORGE_DEPLOY_ACCESS serves {len(access)} at sandbox level {level}")


async def _load_environments(settings: Settings) -> Sequence[Environment]:
    """The environments in the database."""
    return [each for values in await load_configurations(settings) for each in _find_environments(values)]


def _find_environments(values: Mapping[str, JsonValue]) -> Iterator[Environment]:
    try:
        yield from DeploySettings.model_validate(values.get("deploy") or {}).environments.values()
    except ValidationError:  # newer rules refuse it
        return
