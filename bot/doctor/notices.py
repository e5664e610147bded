"""Checks whether the targets of notices are defined as they should be, and take what they are sent."""

from bot.current_database import open_database
from bot.doctor.diagnosis import Diagnosis, fail, ok, warn
from bot.notify_targets import load_notify_targets
from bot.settings import Settings
from domain.errors import ConfigurationError, ForgeError
from memory.deliveries.notices import targets
from messages.notices import describe_target

_PART = "notices"
_SHOWN = 5


async def check_notices(settings: Settings) -> Diagnosis | None:
    """How the targets are; None if there are none, or the database does not answer."""
    try:
        own = load_notify_targets(settings.notify_targets)
    except ConfigurationError as error:
        return fail(_PART, error.message, error.advice)
    try:
        async with open_database(settings) as database:
            known = await targets.list_all(database)
    except ForgeError:  # the check of the database says why
        known = ()
    failing = [each for each in known if each.failing_since is not None]
    if failing:
        named = [
            f"{describe_target(each.key)} {'is gone' if each.gone_at else 'fails'}: {each.problem}" for each in failing
        ]
        more = "" if len(named) <= _SHOWN else f"; and {len(named) - _SHOWN} more"
        advice = "`forge notices --failed` shows what was not told; `forge notices --test TARGET` tries one again."
        return warn(_PART, "; ".join(named[:_SHOWN]) + more, advice)
    if not own and not known:
        return None
    return ok(_PART, f"{len(own)} of FORGE_NOTIFY_TARGETS, and {len(known)} in use, none of which fails")
