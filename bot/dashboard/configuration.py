"""The page of the configuration as it applies, which leads to GitHub's editor for another one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from bot.dashboard.authority import GitHubSilent
from bot.dashboard.visit import Page, Shown, Visit
from domain.config.configuration import Configuration
from domain.config.presets import ConfiguredValue, ValueOrigin, Values, trace_origins
from domain.config.values import Mistake
from domain.errors import CodeHostError, Forbidden, NotFound, Unauthorized
from memory.repositories import configurations
from pipeline.config import loading
from pipeline.config.loading import ORGANISATION
from pipeline.config.parsing import PATH, LoadedConfiguration, Source, parse
from safety.authorization import refuse_role

EDITOR = "write"
"""The role that changes the file, as for pushing a branch on GitHub."""
_OF_ORGANISATION = "not shown: the organisation's file is in a repository that you may not read"
_OF_OPERATOR = "not shown: the operator sets it, which takes the role write here"


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
        loaded = await loading.load_live(services, repository)
        content = await services.host.file_content(repository, PATH)
    except CodeHostError as error:
        raise GitHubSilent.explain(error) from None
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
    """Every key with its value, and where that comes from; no values of a file that the visitor may not read."""
    present = await load_present(visit)
    ceilings = visit.services.ceilings.of_configuration
    values = trace_origins(present.loaded.configuration, present.loaded.below, present.own, ceilings)
    hidden = await _list_hidden(visit, present)
    shown_values = [(each, _explain_hidden(each, hidden)) for each in values]
    shown = {
        "present": present,
        "chosen": [each for each in shown_values if each[0].origin is not ValueOrigin.default],
        "usual": [each for each in shown_values if each[0].origin is ValueOrigin.default],
        "origins": ORIGINS,
        "file": visit.on_github("blob", "HEAD") + f"/{PATH}",
        "path": PATH,
        "editor": await _locate_editor(visit, present) if visit.may(EDITOR) else "",
    }
    return Page("configuration.html", "Configuration", shown)


async def _list_hidden(visit: Visit, present: PresentFile) -> Sequence[ValueOrigin]:
    """From where values come that are not shown to the visitor.

    Who may push sees everything: `Forge / config` tells them of each value that a change of theirs would replace.
    """
    if visit.may(EDITOR):
        return ()
    below = present.loaded.below
    if not below or await _may_read_organisation(visit):
        return (ValueOrigin.ceiling,)
    is_chosen_there = "preset" in below and "preset" not in present.own
    return (
        ValueOrigin.ceiling,
        ValueOrigin.organisation,
        ValueOrigin.held,
        *((ValueOrigin.preset,) if is_chosen_there else ()),
    )


async def _may_read_organisation(visit: Visit) -> bool:
    """Whether the visitor may read the organisation's file on GitHub now.

    :raises GitHubSilent: GitHub did not answer.
    """
    there = visit.repository.model_copy(update={"id": 0, "name": ORGANISATION})  # as its file is read
    try:
        role = await visit.services.host.permission(there, visit.session.login, visit.session.account_id)
    except (NotFound, Forbidden, Unauthorized):
        return False
    except CodeHostError as error:
        raise GitHubSilent.explain(error) from None
    return refuse_role(role, "read") is None


def _explain_hidden(value: ConfiguredValue, hidden: Sequence[ValueOrigin]) -> str:
    """Why a value is not shown; empty if it is."""
    if value.origin not in hidden:
        return ""
    return _OF_OPERATOR if value.origin is ValueOrigin.ceiling else _OF_ORGANISATION


async def _locate_editor(visit: Visit, present: PresentFile) -> str:
    """Where GitHub's editor changes the file, or makes it; saving there opens a pull request.

    :raises GitHubSilent: GitHub did not answer.
    """
    try:
        branch = (await visit.services.host.default_branch(visit.repository)).name
    except CodeHostError as error:
        raise GitHubSilent.explain(error) from None
    if present.content is None:
        return f"{visit.on_github('new', branch)}?filename={PATH}"
    return visit.on_github("edit", branch, *PATH.split("/"))


ORIGINS = {
    "default": "default",
    "preset": "preset",
    "organisation": "organisation's file",
    "repository": "this repository's file",
    "held": "held, though the files say otherwise",
    "ceiling": "operator's ceiling",
}
