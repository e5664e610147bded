"""`forge metrics --detectors`: shows how often each detector of giving up was wrong, and what may pass for a time."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

from rich.table import Column, Table

from bot.cli import lookup
from bot.cli.output import output
from bot.clock import SystemClock
from bot.current_database import open_database
from bot.settings import Installation
from domain.review.avoidance import MEMORY_DAYS, DetectorRecord
from domain.review.judgements import Whitelisting
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from memory.findings import detectors, whitelists


async def show(settings: Installation, repository: str | None, *, as_json: bool) -> None:
    """Print what the detectors found, how much of it was wrong, and the whitelists that hold.

    :param repository: the only one that counts; whitelists are shown of one only.
    :raises UnknownName: if Forge never ran in the repository.
    """
    now = SystemClock().now()
    since = now - timedelta(days=MEMORY_DAYS)
    listed: list[Whitelisting] = []
    async with open_database(settings) as database:
        ids: Sequence[int] = ()
        if repository is not None:
            ids = await lookup.find_repositories(database, repository)
        records = await detectors.load_records(database, ids[0] if ids else None, since)
        for each in ids:
            listed += [one for one in await whitelists.list_all(database, each) if one.find_lapse(now) is None]
    with output() as console:
        if as_json:
            console.file.write(json.dumps(to_json(records, listed), indent=2) + "\n")
            return
        console.print(_table(records))
        console.print(
            f"{MEMORY_DAYS} days. A detector is wrong too often where more than a tenth is dismissed (of 20)."
        )
        for one in listed:
            console.print(_describe(one), markup=False, highlight=False, emoji=False, soft_wrap=True)


def to_json(records: Mapping[str, DetectorRecord], listed: Sequence[Whitelisting]) -> dict[str, object]:
    """The same for programs."""
    return {
        "detectors": [
            {
                "rule": rule,
                "found": record.found,
                "dismissed": record.dismissed,
                "confirmed": record.confirmed,
                "unreliable": record.is_unreliable,
            }
            for rule, record in sorted(records.items())
        ],
        "whitelists": [each.model_dump(mode="json") for each in listed],
    }


def _table(records: Mapping[str, DetectorRecord]) -> Table:
    names = ("found", "dismissed", "confirmed")
    right = [Column(name, justify="right", no_wrap=True) for name in names]
    table = Table(Column("detector", no_wrap=True), *right, Column("wrong", no_wrap=True), box=None)
    for rule, record in sorted(records.items()):
        numbers = (record.found, record.dismissed, record.confirmed)
        table.add_row(rule, *map(str, numbers), "too often" if record.is_unreliable else "")
    return table


def _describe(listed: Whitelisting) -> str:
    where = listed.path or "the whole repository"
    text = f"{listed.rule} may pass in {where} until {listed.until:%Y-%m-%d}, by {listed.by_login}: {listed.words}"
    return " ".join(strip_invisible(redact_outgoing(text)).split())
