"""Every text about what Forge learned from people: receipts, what is held back because of it, and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from domain.memories.memory import Memory
from domain.review.findings import Finding
from domain.review.suppression import LEAST, Held, Past, Unseconded, Weight, Why, folder, shown
from domain.text.escaping import code, link, place, prose

MOST_GROUPS = 10  # lines of the summary
MOST_NAMED = 5  # memories and dismissals that are named at once
_SAID = 300  # characters of a memory


@dataclass(frozen=True)
class Evidence:
    """What is known about why a finding is raised or not.

    :param weight: None where nothing was to be learned.
    :param exempt: it is raised whatever people dismissed of its like.
    :param unseconded: who alone stands against it, if it is raised only because of that.
    :param past: dismissals of other findings of its rule in this repository.
    :param memories: those that led to it.
    :param heads: the first and the last head it was found at.
    """

    finding: Finding
    dismissal: Past | None = None
    weight: Weight | None = None
    exempt: bool = False
    held: Held | None = None
    unseconded: Unseconded | None = None
    past: Sequence[Past] = field(default_factory=list[Past])
    memories: Sequence[Memory] = field(default_factory=list[Memory])
    heads: tuple[str, str] | None = None


# --- what is held back --------------------------------------------------------------------------------------


def held_back(held: Sequence[Held]) -> str:
    """The section of a summary: one line for each rule and folder, folded away."""
    if not held:
        return ""
    groups = _groups(held)
    lines = [_group(group) for group in groups[:MOST_GROUPS]]
    left = sum(len(group) for group in groups[MOST_GROUPS:])
    if left:
        lines.append(f"- and {_count(left, 'more finding')}; `/forge view` lists them")
    head = f"<details><summary>{_count(len(held), 'finding')} held back because of earlier dismissals</summary>"
    return "\n".join([head, "", *lines, "", "</details>"])


def _groups(held: Sequence[Held]) -> list[list[Held]]:
    groups: dict[tuple[str, ...], list[Held]] = {}
    for each in held:
        where = folder(each.finding.path) if each.why is Why.rule else each.finding.where
        groups.setdefault((each.why, each.finding.rule, where), []).append(each)
    return list(groups.values())


def _group(group: Sequence[Held]) -> str:
    """The finding that takes the most to come back stands for all of them."""
    hardest = max(group, key=lambda each: each.release)
    what = f"{_count(len(group), 'finding')} of {code(hardest.finding.rule)}"
    return f"- {what} {_because(hardest)} {_way_back(hardest, 'it' if len(group) == 1 else 'them')}"


def _because(held: Held) -> str:
    if held.why is Why.reworded:
        return f"at {place(held.finding.where)}: the same was dismissed there in other words{_named(held.memories)}."
    weight = held.weight
    times = [f"{_times(weight.here)} there"] if weight.here else []
    times += [f"{_times(weight.elsewhere)} elsewhere"] if weight.elsewhere else []
    return f"{_in(folder(held.finding.path))}: dismissed {' and '.join(times)}{_named(held.memories)}."


def _way_back(held: Held, them: str) -> str:
    undismiss = f"`/forge undismiss {held.finding.id}`"
    if held.release > 1:
        return f"{undismiss} takes {held.release} dismissals back, which brings {them} back."
    forget = f" or `/forge forget {held.memories[0]}`" if held.memories else ""
    return f"{undismiss}{forget} brings {them} back."


def unseconded(raised: Sequence[Unseconded]) -> str:
    """What blocks although one person dismissed its like often enough: one line for each rule and folder."""
    groups = {(each.finding.rule, folder(each.finding.path)): _alone(each) for each in raised}
    lines = [f"- {line}" for line in list(groups.values())[:MOST_GROUPS]]
    return "\n".join(lines)


def _alone(raised: Unseconded) -> str:
    whose = f"{code(raised.by)} alone dismissed {_count(raised.dismissals, 'finding')} of it"
    return (
        f"{code(raised.finding.rule)} {_in(folder(raised.finding.path))} blocks, and {whose}: it is held back once a "
        "second person, or a maintainer, dismisses one."
    )


# --- receipts -----------------------------------------------------------------------------------------------


def dismissal_learned(taught: Mapping[str, Finding]) -> str:
    """Follows the receipt of a dismissal.

    :param taught: each memory, as it is shown → a finding of the rule and the folder that it is about.
    """
    lines = [
        f"Learned ({memory}): {code(finding.rule)} is doubted a little more {_in(folder(finding.path))}."
        for memory, finding in taught.items()
    ]
    left = len(lines) - MOST_NAMED
    return " ".join([*lines[:MOST_NAMED], f"So it is in {_count(left, 'more folder')}."] if left > 0 else lines)


def remembered(memory: Memory, is_new: bool) -> str:
    """The receipt for ``remember``."""
    if is_new:
        return f"Learned: {_said(memory)} ({memory.shown}). `/forge forget {memory.shown}` takes it back."
    return (
        f"Known already, and confirmed now: {_said(memory)} ({memory.shown}, confidence {memory.confidence:.2f}). "
        f"`/forge forget {memory.shown}` takes it back."
    )


def switched_off() -> str:
    """For ``remember`` where the repository does not want Forge to learn."""
    return "Nothing was learned: `memory: {enabled: false}` in `.github/forge.yml` switches that off here."


def no_room(most: int) -> str:
    """For ``remember`` where as many memories live as may, and none gives way.

    :param most: memories that may live there.
    """
    if not most:
        return "Nothing was learned: `memory: {max: 0}` in `.github/forge.yml` keeps no memories here."
    return (
        f"Nothing was learned: as many memories are pinned here as may live (`memory.max`: {most:,}). "
        "`/forge forget M-ID` makes room, or `forge memory archive M-ID` of the operator."
    )


def holds_secret() -> str:
    """For a text with a credential in it."""
    return (
        "Nothing was learned: there is what looks like a credential in it. Delete the comment and revoke the "
        "credential, then write it again without."
    )


def forgotten(memory: Memory, undone: Sequence[Past]) -> str:
    """The receipt for ``forget``.

    :param undone: the dismissals that taught it, which are taken back with it.
    """
    if not undone:
        return f"Forgotten ({memory.shown}): {_said(memory)}"
    names = _listed(f"**{past.name}** of pull request {past.number}" for past in undone)
    taught, count = ("dismissal", "counts") if len(undone) == 1 else ("dismissals", "count")
    is_back = f"the {taught} that taught it {'is' if len(undone) == 1 else 'are'} taken back"
    return f"Forgotten ({memory.shown}), and {is_back}: {names} {count} again."


def already_forgotten(memory: Memory) -> str:
    why = memory.archived_why.value if memory.archived_why is not None else "forgotten"
    return f"{memory.shown} does not count any more ({why}): {_said(memory)}"


def no_such_memory(name: str) -> str:
    """For a memory this repository does not have."""
    return (
        f"There is no memory {code(name)} here. The receipts of `/forge remember` and `/forge dismiss` name them, and "
        "`/forge why F-ID` those about a finding."
    )


def shared_memory(memory: Memory, repository: str | None) -> str:
    """For a memory that another repository of the organisation shares.

    :param repository: its full name; None if that is not known, or it does not share any more.
    """
    where = (
        "in the repository of this organisation where it was taught" if repository is None else f"in {code(repository)}"
    )
    return f"{memory.shown} is shared and is not forgotten here: `/forge forget {memory.shown}` {where} takes it away."


def which_memory(name: str, memories: Sequence[Memory]) -> str:
    """For a short name that several have."""
    lines = [f"- `/forge forget M-{memory.id}`: {_said(memory)}" for memory in memories]
    return "\n".join([f"{code(name)} is the end of several. Which one?", "", *lines])


def undismissed_like(finding: Finding, undone: Sequence[Past]) -> str:
    """The receipt for ``undismiss`` of a finding that was held back because of its like."""
    names = _listed(f"{past.name} ({code(past.rule)} in {code(past.path)}, by {code(past.by)})" for past in undone)
    return f"**{finding.id}** counts again: {_count(len(undone), 'dismissal')} of its like taken back, of {names}."


# --- why ----------------------------------------------------------------------------------------------------


def why(evidence: Evidence) -> str:
    """Answers ``why``: what led to a finding, and what people's dismissals make of it."""
    finding = evidence.finding
    parts = [
        f"**{finding.id}** · {finding.severity.value} · {finding.category.value} · {place(finding.where)}",
        _found(evidence),
        _stands(evidence),
        _sum(evidence.weight, evidence.exempt) if evidence.weight is not None else _OFF,
        _dismissals(evidence),
        _led(evidence.memories),
    ]
    return "\n\n".join(part for part in parts if part)


_EXEMPT = (
    "It is raised whatever that comes to: credentials, critical findings and security findings that block are never "
    "held back."
)
_OFF = "Nothing is learned here (`memory.enabled`), so only its own dismissal would mute it."


def _found(evidence: Evidence) -> str:
    finding = evidence.finding
    by = {1: "a tool of layer 1", 2: "layer 2, security", 3: "the model, layer 3"}[finding.layer.value]
    text = f"Raised by {by}, rule {link(finding.rule, finding.help_url)}: {prose(finding.message, 300)}"
    if evidence.heads is not None:
        first, last = (code(head[:7]) for head in evidence.heads)
        text += f" First found at head {first}" + ("." if first == last else f", last at {last}.")
    return text


def _stands(evidence: Evidence) -> str:
    past = evidence.dismissal
    if past is not None:
        return f"**Muted**: {_dismissal(past)}"
    if evidence.held is not None:
        return f"**Held back** {_because(evidence.held)} {_way_back(evidence.held, 'it')}"
    return "" if evidence.unseconded is None else f"**Raised**: {_alone(evidence.unseconded)}"


def _sum(weight: Weight, exempt: bool) -> str:
    """The arithmetic of the confidence."""
    terms = [f"{weight.stated:.2f} as stated"]
    terms += _term(weight.here, weight.kept_here, weight.here_takes, "in this folder")
    terms += _term(weight.elsewhere, weight.kept_elsewhere, weight.elsewhere_takes, "elsewhere")
    below = _EXEMPT if exempt else f"Below {LEAST:.2f} it would be held back."
    return f"Confidence: {', '.join(terms)}: **{weight.effective:.2f}**. {below}"


def _term(dismissed: int, kept: int, takes: float, where: str) -> list[str]:
    if not dismissed:
        return []
    gave = f" less {kept} taken up" if kept else ""
    return [f"−{takes:.2f} for {_count(dismissed, 'dismissal')} of its rule {where}{gave}"]


def _dismissals(evidence: Evidence) -> str:
    if not evidence.past:
        return "" if evidence.weight is None else "No other finding of its rule is dismissed here."
    newest = list(reversed(evidence.past))
    lines = [f"- {_dismissal(past)}" for past in newest[:MOST_NAMED]]
    left = len(newest) - len(lines)
    return "\n".join(["Dismissals of its rule here:", "", *lines, *([f"- and {left} earlier"] if left > 0 else [])])


def _dismissal(past: Past) -> str:
    memory = f" ({shown(past)})" if past.memory_id else ""
    where = f"{past.name} in {code(past.path)}, pull request {past.number}"
    return f"{where}, by {code(past.by)} on {_day(past.at)}: {prose(past.reason, 200)}{memory}"


def _led(memories: Sequence[Memory]) -> str:
    if not memories:
        return ""
    lines = [f"- {memory.shown}: {_said(memory)}" for memory in memories[:MOST_NAMED]]
    return "\n".join(["Memories that led to it:", "", *lines])


# --- words --------------------------------------------------------------------------------------------------


def _said(memory: Memory) -> str:
    return prose(memory.content, _SAID)


def _in(where: str) -> str:
    return f"in {code(where)}" if where else "at the root"


def _named(memories: Sequence[str]) -> str:
    return f" ({', '.join(memories[:MOST_NAMED])})" if memories else ""


def _listed(parts: Iterable[str]) -> str:
    every = list(parts)
    left = len(every) - MOST_NAMED
    return ", ".join(every[:MOST_NAMED]) + (f" and {left} more" if left > 0 else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")
