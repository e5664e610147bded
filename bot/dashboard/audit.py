"""The page of a repository's audit: who decided what and what was stopped, filtered, paged and exported."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from bot.clock import parse_moment
from bot.dashboard.visit import Download, NotHere, Page, Shown, Visit
from domain.errors import ForgeError
from domain.events import Event
from memory.db.engine import Database
from memory.reports import audit
from memory.reports.audit import EventFilter
from memory.reports.pages import PageKey
from messages.audit import (
    SAFETY_EVENTS,
    AuditEntry,
    EventDescription,
    ExportForm,
    describe_event,
    export_entry,
    export_head,
)

LEAST = "write"
"""The audit names who was refused what, and quotes tools and models; readers of a public repository do not see it."""
LISTED = 100
"""Events on one page."""
_BATCH = 64 * 1024  # characters of an export that are sent at once
_LONGEST = 100  # characters of a field
_FIELDS = ("since", "until", "kind", "account", "run")
_TYPES = {ExportForm.jsonl: "application/x-ndjson", ExportForm.csv: "text/csv"}
FAMILIES = sorted({kind.value.partition(".")[0] for kind in SAFETY_EVENTS} | {"checkpoint"})
NO_PAGES: Mapping[str, str] = {"newer": "", "older": ""}


@dataclass(frozen=True)
class ListedEvent:
    """An event in words.

    :param run: the page of its run; empty if it belongs to none.
    :param place: the issue or pull request on GitHub; empty if it belongs to none.
    """

    event: Event
    told: EventDescription
    number: int | None
    run: str
    place: str


async def show_audit(visit: Visit) -> Shown:
    """The events of a repository that match what was asked for, newest first."""
    asked = _read_fields(visit)
    try:
        wanted = await _build_filter(visit, asked)
    except ForgeError as error:
        return _show(visit, asked, (), mistake=str(error))
    entries, newer, older = await _load(visit.database, wanted, visit.key)
    return _show(
        visit,
        asked,
        entries,
        around=visit.link_pages(newer, older, "audit", **asked),
    )


async def export_audit(visit: Visit) -> Shown:
    """All events that match, oldest first, as a file that is sent while it is read."""
    if visit.parts["form"] not in set(ExportForm):
        raise NotHere
    asked, form = _read_fields(visit), ExportForm(visit.parts["form"])
    try:
        wanted = await _build_filter(visit, asked)
    except ForgeError as error:
        return _show(visit, asked, (), mistake=str(error))
    name = f"forge-audit-{visit.repository.owner}-{visit.repository.name}.{form}"
    return Download(name, _TYPES[form], _export(visit.database, wanted, form))


async def _export(database: Database, wanted: EventFilter, form: ExportForm) -> AsyncGenerator[bytes]:
    waiting = export_head(form)
    async for entry in audit.stream_all(database, wanted):
        waiting += export_entry(entry, form)
        if len(waiting) > _BATCH:
            yield waiting.encode()
            waiting = ""
    yield waiting.encode()


def _read_fields(visit: Visit) -> Mapping[str, str]:
    return {name: visit.query.get(name, "").strip()[:_LONGEST] for name in _FIELDS}


async def _build_filter(visit: Visit, asked: Mapping[str, str]) -> EventFilter:
    """:raises ForgeError: a field says nothing that can be looked for."""
    since = parse_moment(asked["since"] or None, visit.now, "Since")
    until = parse_moment(asked["until"] or None, visit.now, "Until")
    if since is not None and until is not None and since >= until:
        raise ForgeError("Since is not before Until, so no event can match.")
    return EventFilter(
        run=await _find_run(visit, asked["run"]) if asked["run"] else None,
        family=asked["kind"] if asked["kind"] in FAMILIES else None,
        account=asked["account"].removeprefix("@") or None,
        repositories=[visit.repository.id],
        since=since,
        until=until,
    )


async def _find_run(visit: Visit, text: str) -> str:
    ending = text.removeprefix("…").removeprefix("...")
    found = await audit.find_runs(visit.database, ending, visit.repository.id) if len(ending) >= 6 else ()
    if len(found) != 1:
        why = "Several runs end so." if found else f"There is no run {text} here."
        raise ForgeError(why, "Give the whole id of a run, or at least its last 6 characters.")
    return found[0]


async def _load(database: Database, wanted: EventFilter, key: PageKey) -> tuple[Sequence[AuditEntry], str, str]:
    """A page of events, newest first, and the keys of the pages around it."""
    if key.after:
        page = await audit.list_newer(database, wanted, key.after, LISTED + 1)
        entries, has_newer, has_older = page.entries[-LISTED:], len(page.entries) > LISTED, True
    else:
        page = await audit.list_older(database, wanted, key.before, LISTED + 1)
        entries, has_newer, has_older = page.entries[:LISTED], bool(key.before), len(page.entries) > LISTED
    newer = entries[0].event.id if entries and has_newer else ""
    older = entries[-1].event.id if entries and has_older else ""
    if key.after:
        return entries, newer or page.far, older or page.far
    return entries, newer or ("" if entries else key.before), older or page.far


def _show(
    visit: Visit,
    asked: Mapping[str, str],
    entries: Sequence[AuditEntry],
    mistake: str = "",
    around: Mapping[str, str] = NO_PAGES,
) -> Page:
    shown = {
        "asked": asked,
        "families": FAMILIES,
        "events": [_list(visit, entry) for entry in entries],
        "mistake": mistake,
        **around,
        "exports": [(form.value, visit.address("audit", "export", form.value, **asked)) for form in ExportForm],
    }
    return Page("audit.html", "Audit", shown)


def _list(visit: Visit, entry: AuditEntry) -> ListedEvent:
    run = visit.address("runs", entry.run) if entry.run else ""
    place = "" if entry.number is None else visit.on_github("issues", entry.number)  # GitHub leads on to a pull request
    return ListedEvent(entry.event, describe_event(entry.event), entry.number, run, place)
