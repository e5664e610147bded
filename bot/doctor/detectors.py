"""Checks whether people often call wrong what the detectors of giving up find."""

from datetime import timedelta

from bot.clock import SystemClock
from bot.current_database import open_database
from bot.doctor.diagnosis import Diagnosis, ok, warn
from bot.settings import Settings
from domain.errors import ForgeError
from domain.review.avoidance import MEMORY_DAYS
from memory.findings import detectors


async def check_detectors(settings: Settings) -> Diagnosis | None:
    """How reliable they are in all repositories; None if nothing was found so far, or the database does not answer."""
    since = SystemClock().now() - timedelta(days=MEMORY_DAYS)
    try:
        async with open_database(settings) as database:
            records = await detectors.load_records(database, None, since)
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
