"""Checks what operators and repositories configure: detectors, notices, linters, deployments."""

import shlex
import shutil
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from bot.clock import SystemClock
from bot.current_database import open_database
from bot.doctor import Diagnosis, fail, ok, warn
from bot.operator_files import load_deploy_access, load_notice_access
from bot.settings import Installation, Settings
from domain.config.deploy import DeploySettings, Environment
from domain.config.sections import Linter
from domain.deployments.deployment import DeployAccesses
from domain.errors import ConfigurationError, ForgeError
from domain.review.avoidance import MEMORY_DAYS
from github.host import GitHubHost
from memory import findings
from memory.deliveries import notice_targets
from memory.repositories import configurations
from messages.notices import describe_state
from pipeline.config.parsing import PATH, load_from_checkout
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.probing import probe, select_levels
from workspace.sandbox.sandbox import BUBBLEWRAP


async def load_configurations(settings: Installation) -> Sequence[Mapping[str, JsonValue]]:
    """The last valid values of each file; none if the database cannot be read, which another check reports."""
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        return ()  # opening it would create it
    try:
        async with open_database(settings) as database:
            return await configurations.list_all(database)
    except (ForgeError, DBAPIError):
        return ()


async def check_detectors(settings: Settings) -> Diagnosis | None:
    """How reliable they are in all repositories; None if nothing was found so far, or the database does not answer."""
    since = SystemClock().now() - timedelta(days=MEMORY_DAYS)
    try:
        async with open_database(settings) as database:
            records = await findings.load_detector_records(database, None, since)
    except ForgeError:  # the check of the database says why
        return None
    if not records:
        return None
    wrong = [
        f"{rule} ({record.dismissed} of {record.found} dismissed)"
        for rule, record in sorted(records.items())
        if record.is_unreliable
    ]
    if wrong:
        advice = "`forge metrics --detectors` shows more; `avoidance:` in `.github/forge.yml` makes one a note."
        return warn("detectors", f"wrong too often in {MEMORY_DAYS} days: {', '.join(wrong)}", advice)
    found = sum(record.found for record in records.values())
    return ok("detectors", f"what they found in {found} pull requests in {MEMORY_DAYS} days was mostly right")


async def check_notices(settings: Settings) -> Diagnosis | None:
    """How the targets are; None if there are none, or the database does not answer."""
    try:
        own = load_notice_access(settings.notify_targets, "").targets
    except ConfigurationError as error:
        return fail("notices", error.message, error.advice)
    try:
        async with open_database(settings) as database:
            known = await notice_targets.list_all(database)
    except ForgeError:  # the check of the database says why
        known = ()
    failing = [describe_state(each) for each in known if each.problem]
    if failing:
        advice = "`forge notices --test TARGET` tries one again; `forge notices` shows all."
        return warn("notices", "; ".join(failing[:5]), advice)
    if not own and not known:
        return None
    return ok("notices", f"{len(own)} of FORGE_NOTIFY_TARGETS, and {len(known)} in use, none of which fails")


_MAX_NAMED = 10  # missing programs that are listed


async def check_linters(settings: Installation) -> Diagnosis | None:
    """Check the linters of each repository's last valid configuration, and of the configuration in this folder, if any.

    A program with a relative path comes with its repository and is not checked. None if there is nothing to check.
    """
    named = {
        program
        for each in (*await _load_stored(settings), *_read_local())
        if (program := _find_missing_program(each)) is not None
    }
    if not named:
        return None
    searched = build_path(settings.sandbox_tools)
    missing = sorted(program for program in named if shutil.which(program, path=searched) is None)
    if not missing:
        return ok("linters", f"all configured programs are installed ({len(named)})")
    told = ", ".join(missing[:_MAX_NAMED]) + (" …" if len(missing) > _MAX_NAMED else "")
    state = f"{len(missing)} of {len(named)} configured programs are not in {searched}: {told}"
    return warn("linters", state, "Install them there; until then, reviews of those repositories need a person.")


def _find_missing_program(linter: Linter) -> str | None:
    first = shlex.split(linter.run)[0]
    return first if "/" not in first or first.startswith("/") else None


def _read_local() -> Sequence[Linter]:
    try:
        content = Path(PATH).read_bytes()
    except OSError:
        return ()
    return load_from_checkout(content).configuration.review.linters


async def _load_stored(settings: Installation) -> Sequence[Linter]:
    return [linter for values in await load_configurations(settings) for linter in _find_linters(values)]


def _find_linters(values: Any) -> Iterator[Linter]:
    review = values.get("review")
    found = review.get("linters") if isinstance(review, dict) else None
    listed: list[Any] = found if isinstance(found, list) else []
    for each in listed:
        try:
            yield Linter.model_validate(each)
        except ValidationError:  # newer rules refuse it
            continue


_NEEDED = {"actions": "write", "deployments": "write"}


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
        yield fail("deployments", error.message, error.advice)
        return
    yield check_commands(by_command, access, best)


def check_permissions(environments: int, missing: Sequence[str]) -> Diagnosis:
    """Whether the App may start workflows and record deployments.

    :param environments: how many are configured.
    """
    state = f"{environments} environment{'' if environments == 1 else 's'} in the repositories' configurations"
    if missing:
        advice = "Grant them in the App's settings, and accept that in each installation."
        return fail("deployments", f"{state}, but the App lacks {', '.join(missing)}", advice)
    return ok("deployments", f"{state}, and the App may deploy")


def check_commands(by_command: int, access: DeployAccesses, level: int) -> Diagnosis:
    """Whether commands that deploy reach and know what the operator allows.

    :param by_command: how many environments are deployed by a command.
    :param level: of the sandbox.
    """
    state = f"{by_command} of them by a command"
    if not access:
        advice = "Name what they need in the file of FORGE_DEPLOY_ACCESS (docs/deployments.md)."
        return warn("deployments", f"{state}, which reaches nothing and knows no secret", advice)
    if level < BUBBLEWRAP and any(each.host for each in access.values()):
        advice = f"Install bubblewrap, so that level {BUBBLEWRAP} works."
        return warn("deployments", f"{state}, which reach no address at sandbox level {level}", advice)
    return ok("deployments", f"{state}; FORGE_DEPLOY_ACCESS serves {len(access)} at sandbox level {level}")


async def _load_environments(settings: Settings) -> Sequence[Environment]:
    return [each for values in await load_configurations(settings) for each in _find_environments(values)]


def _find_environments(values: Mapping[str, JsonValue]) -> Iterator[Environment]:
    try:
        yield from DeploySettings.model_validate(values.get("deploy") or {}).environments.values()
    except ValidationError:  # newer rules refuse it
        return
