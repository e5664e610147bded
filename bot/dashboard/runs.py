"""The pages of runs: the list, and one run with its verdict, its findings and its timeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.dashboard.visit import NotHere, Page, Shown, Visit
from domain.gates import Gate
from domain.review.feedback import FindingFeedback
from domain.review.review import Conclusion, Review
from domain.runs.plan import RatedPlan
from domain.runs.run import Run, RunState
from domain.value import shorten_id
from memory import gates, reservations
from memory.db.engine import Database
from memory.learned import feedback
from memory.reports import pages
from memory.reports.pages import KeyedPage, ListedRun, PageKey, RunFilter, TimelineEntry
from memory.runs import checkpoints, outbox, waits, work_checkpoints
from memory.runs.outbox import list_trace
from messages.commands import describe_outcome, name_state
from messages.gate_answers import describe_deciders
from messages.review import name_outcome
from messages.run_page import RunWait, ShownFinding, TimelineRow, describe_held, describe_row, explain_wait
from pipeline.publishing.instructions import name_runs

LISTED = 50
"""Runs on one page."""
RECENT = 60
"""Events that the page of a run shows; the page of its timeline has all."""
EVENTS = 300
"""Events on one page of a timeline."""
_MOST_DIGITS = 12  # of the number of an issue or pull request


async def list_runs(visit: Visit) -> Shown:
    """The runs of a repository, newest first."""
    state, number = visit.query.get("state", ""), visit.query.get("number", "").strip().removeprefix("#")
    wanted = RunFilter(RunState(state) if state in set(RunState) else None, parse_number(number))
    page = await pages.list_runs(visit.database, visit.repository.id, wanted, visit.key, LISTED)
    kept = {"state": wanted.state, "number": wanted.number}
    shown = {
        "runs": await describe_runs(visit.database, page.items),
        "states": [(each, name_state(each)) for each in RunState],
        "wanted": wanted,
        "mistake": f"{number} is not the number of an issue or pull request." if number and not wanted.number else "",
        **visit.link_pages(page.newer, page.older, "runs", **kept),
    }
    return Page("runs.html", "Runs", shown)


@dataclass(frozen=True)
class OutcomeShown:
    """Where a run stands, or what it came to.

    :param colour: a class of the style sheet.
    """

    text: str
    colour: str


async def describe_runs(
    database: Database, listed: Sequence[ListedRun]
) -> Sequence[tuple[ListedRun, str, OutcomeShown]]:
    """Runs with what each does, and what it came to."""
    named = await name_runs(database, [each.run for each in listed])
    return [(each, named[each.run.id], show_outcome(each.run, each.review)) for each in listed]


def show_outcome(run: Run, review: Review | None) -> OutcomeShown:
    """What a run came to, as its check on GitHub says it; where it stands, if it is not over."""
    if review is None or run.state is not RunState.completed:
        return OutcomeShown(describe_outcome(run, review), run.state.value)
    return OutcomeShown(describe_outcome(run, review), _COLOURS[review.conclusion])


_COLOURS = {
    Conclusion.success: "approved",
    Conclusion.failure: "rejected",
    Conclusion.action_required: "waiting",
    Conclusion.neutral: "neutral",
}


@dataclass(frozen=True)
class WaitShown:
    """Why a run waits, and where it is decided on GitHub.

    :param address: empty if there is no such place.
    """

    text: str
    label: str
    address: str


@dataclass(frozen=True)
class GateShown:
    """A gate of a run, where it is on GitHub, and who may decide it."""

    gate: Gate
    address: str
    deciders: str


async def show_run(visit: Visit) -> Shown:
    """One run: why it waits, its verdict, gates, cost and timeline."""
    found = await load_run(visit)
    database, run = visit.database, found.run
    known = await gates.list_for_run(database, run.id)
    proposed = await outbox.find_proposal(database, run.id) if run.is_of_issue else None
    until = await waits.get_until(database, run.id)
    review, plan = await checkpoints.load_review(database, run), await checkpoints.load_plan(database, run)
    latest = await pages.load_timeline(database, await list_trace(database, run.id), PageKey(), RECENT)
    waiting = [each for each in known if each.is_waiting]
    kind = (await name_runs(database, [run]))[run.id]
    shown = {
        "found": found,
        "kind": kind,
        "outcome": show_outcome(run, review),
        "place": visit.on_github("issues" if run.is_of_issue else "pull", run.number),
        "commit": visit.on_github("commit", run.head_sha),
        "proposed": (proposed, visit.on_github("pull", proposed)) if proposed is not None else None,
        "waits": [_show_wait(visit, each) for each in explain_wait(run, waiting, until, proposed)],
        "gates": [show_gate(visit, each) for each in known],
        "spent": await reservations.sum_run(database, run.id),
        "shares": await reservations.list_shares(database, run_id=run.id),
        "timeline": _describe(latest),
        "older": visit.address("runs", run.id, "timeline", before=latest.older) if latest.older else "",
        "has_checkpoints": bool(await work_checkpoints.list_of_run(database, run.id)),
        **await _show_verdict(visit, found, review, plan),
    }
    return Page("run.html", f"{kind} of #{run.number}", shown)


async def show_timeline(visit: Visit) -> Shown:
    """Everything that happened in a run, paged."""
    found = await load_run(visit)
    traces = await list_trace(visit.database, found.run.id)
    page = await pages.load_timeline(visit.database, traces, visit.key, EVENTS)
    shown = {
        "found": found,
        "timeline": _describe(page),
        **visit.link_pages(page.newer, page.older, "runs", found.run.id, "timeline"),
    }
    return Page("timeline.html", f"Timeline of #{found.run.number}", shown)


async def load_run(visit: Visit) -> ListedRun:
    """The run of the address.

    :raises NotHere: there is none in this repository.
    """
    found = await pages.find_run(visit.database, visit.repository.id, visit.parts["run"])
    if found is None:
        raise NotHere
    return found


def show_gate(visit: Visit, gate: Gate) -> GateShown:
    """A gate as pages about runs show it."""
    return GateShown(gate, locate_gate(visit, gate), describe_deciders(gate))


def locate_gate(visit: Visit, gate: Gate) -> str:
    """Where a gate is decided on GitHub: at its comment, or where it is asked."""
    place = visit.on_github("issues" if gate.request.on_issue else "pull", gate.number)
    return f"{place}#issuecomment-{gate.comment_id}" if gate.comment_id is not None else place


def _show_wait(visit: Visit, wait: RunWait) -> WaitShown:
    if wait.gate is not None:
        return WaitShown(wait.text, "Decide on GitHub", locate_gate(visit, wait.gate))
    if wait.pull_request is not None:
        address = visit.on_github("pull", wait.pull_request)
        return WaitShown(wait.text, f"Pull request #{wait.pull_request} on GitHub", address)
    return WaitShown(wait.text, "", "")


async def _show_verdict(
    visit: Visit, found: ListedRun, review: Review | None, plan: RatedPlan | None
) -> Mapping[str, object]:
    """What the run came to, with the tree of its reasons."""
    muted = [] if review is None else [each.fingerprint for each in review.dismissed]
    mutings = await feedback.find_dismissed(visit.database, visit.repository, found.run.number, muted)
    findings: Sequence[ShownFinding] = () if review is None else _list_findings(review, mutings)
    ended = found.finished_at
    return {
        "review": review,
        "verdict": "" if review is None else name_outcome(review),
        "later": 0 if ended is None else sum(each.at > ended for each in mutings.values()),
        "plan": plan,
        "raised": [each for each in findings if each.outcome == "raised"],
        "muted": [each for each in findings if each.outcome == "muted"],
    }


def _list_findings(review: Review, mutings: Mapping[str, FindingFeedback]) -> Sequence[ShownFinding]:
    listed = [ShownFinding(each, "raised", memories=_name_memories(each.memories)) for each in review.findings]
    for each in review.dismissed:
        by = mutings.get(each.fingerprint)
        if by is None:
            listed.append(ShownFinding(each, "muted", "dismissed; that was undone since"))
        else:
            memories = [by.short_memory_id] if by.memory_id else []
            listed.append(ShownFinding(each, "muted", f"dismissed by {by.by}: {by.reason}", memories))
    listed += [ShownFinding(each.finding, "muted", describe_held(each), each.memories) for each in review.held]
    return sorted(listed, key=lambda each: each.finding.sort_key)


def _name_memories(ids: Sequence[str]) -> Sequence[str]:
    return [shorten_id("M", each) for each in ids]


def _describe(page: KeyedPage[TimelineEntry]) -> Sequence[TimelineRow]:
    """In the order in which it happened."""
    return [describe_row(each.event, each.turn) for each in reversed(page.items)]


def parse_number(text: str) -> int | None:
    """The number of an issue or pull request; None if the text is none."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number and int(text) > 0 else None
