"""The page of the configuration as it applies, and what other pages read of it."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from bot.dashboard.authority import GitHubSilent
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit
from domain.config.configuration import Configuration
from domain.config.mistakes import Mistake
from domain.config.origins import trace_origins
from domain.config.presets import Values
from domain.errors import CodeHostError
from memory.repositories import configurations
from pipeline.config import loading
from pipeline.config.parsing import PATH, LoadedConfiguration, Source, parse

_DIGITS = 12  # of the number of a pull request


@dataclass(frozen=True)
class PresentFile:
    """The file of the default branch now, and what holds.

    :param content: None if there is no file.
    :param own: the values of the repository's file that hold: of this version, or of the last valid one.
    :param idle: keys without effect.
    """

    loaded: LoadedConfiguration
    content: bytes | None
    own: Values = field(default_factory=dict[str, JsonValue])
    mistakes: tuple[Mistake, ...] = ()
    idle: tuple[Mistake, ...] = ()


async def load_present(visit: Visit) -> PresentFile:
    """The file and what holds, as GitHub has it now.

    :raises GitHubSilent: GitHub did not answer.
    """
    services, repository = visit.services, visit.repository
    try:
        loaded = await loading.load(services.host, services.database, repository, services.ceilings.of_configuration)
        content = await services.host.file_content(repository, PATH)
    except CodeHostError as error:
        raise GitHubSilent(str(error)) from None
    if content is None:
        return PresentFile(loaded, None)
    parsed = parse(content, loaded.below)
    if parsed.configuration is not None:
        return PresentFile(loaded, content, parsed.values, idle=parsed.idle)
    last = None
    if loaded.source is Source.last_valid:
        last = await configurations.find_last_valid(services.database, configurations.of_repository(repository))
    return PresentFile(loaded, content, {} if last is None else last.values, parsed.mistakes)


async def load_configuration(visit: Visit) -> Configuration:
    """The configuration as it applies.

    :raises GitHubSilent: GitHub did not answer.
    """
    return (await load_present(visit)).loaded.configuration


async def show_configuration(visit: Visit) -> Shown:
    """Every key with its value, and where that comes from."""
    present = await load_present(visit)
    ceilings = visit.services.ceilings.of_configuration
    values = trace_origins(present.loaded.configuration, present.loaded.below, present.own, ceilings)
    shown = {
        "present": present,
        "values": values,
        "origins": ORIGINS,
        "file": visit.on_github("blob", "HEAD") + f"/{PATH}",
        "path": PATH,
        "proposed": _find_proposed(visit),
    }
    return Page("configuration.html", "Configuration", shown)


def _find_proposed(visit: Visit) -> tuple[str, str] | None:
    """Number and address of the pull request that a form made a moment ago."""
    number = visit.query.get("proposed", "")
    if not number.isascii() or not number.isdigit() or len(number) > _DIGITS:
        return None
    return number, visit.on_github("pull", number)


ORIGINS = {
    "default": "default",
    "preset": "preset",
    "organisation": "organisation's file",
    "repository": "this repository's file",
    "held": "held, though the files say otherwise",
    "ceiling": "operator's ceiling",
}
PAGES = (RepositoryPage("configuration", show_configuration, tab="Configuration"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
