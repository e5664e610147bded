"""Every text about what Forge learned from people: receipts, what is held back because of it, and what became of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.events import Event, EventType
from domain.memories import Memory
from domain.review.feedback import FindingFeedback
from domain.review.findings import Finding
from domain.review.review import (
    MIN_CONFIDENCE,
    ONLY_DISMISSED,
    AdjustedConfidence,
    SuppressedFinding,
    SuppressionReason,
    parent_folder,
)
from domain.text.escaping import (
    escape,
    flatten_redacted,
    format_day,
    inline_code,
    inline_path,
    link,
    name_count,
    name_some,
)

MOST_GROUPS = 10  # lines of the summary
MOST_NAMED = 5  # memories and dismissals that are named at once
_SAID = 300  # characters of a memory


@dataclass(frozen=True)
class Evidence:
    """What is known about why a finding is raised or not.

    :param weight: None where nothing was to be learned.
    :param exempt: it is raised whatever people dismissed of its like.
    :param past: dismissals of other findings of its rule in this repository.
    :param memories: those that led to it.
    :param heads: the first and the last head it was found at.
    """

    finding: Finding
    dismissal: FindingFeedback | None = None
    weight: AdjustedConfidence | None = None
    exempt: bool = False
    held: SuppressedFinding | None = None
    past: Sequence[FindingFeedback] = field(default_factory=list[FindingFeedback])
    memories: Sequence[Memory] = field(default_factory=list[Memory])
    heads: tuple[str, str] | None = None


# --- what is held back --------------------------------------------------------------------------------------


def render_suppressed(held: Sequence[SuppressedFinding]) -> str:
    """The section of a summary: one line for each rule and folder, folded away."""
    if not held:
        return ""
    groups = _groups(held)
    lines = [_group(group) for group in groups[:MOST_GROUPS]]
    left = sum(len(group) for group in groups[MOST_GROUPS:])
    if left:
        lines.append(f"- and {name_count(left, 'more finding')}; `/forge view` lists them")
    head = f"<details><summary>{name_count(len(held), 'finding')} suppressed because of earlier dismissals</summary>"
    return "\n".join([head, "", *lines, "", "</details>"])


def _groups(held: Sequence[SuppressedFinding]) -> list[list[SuppressedFinding]]:
    groups: dict[tuple[str, ...], list[SuppressedFinding]] = {}
    for each in held:
        where = parent_folder(each.finding.path) if each.why is SuppressionReason.rule else each.finding.where
        groups.setdefault((each.why, each.finding.rule, where), []).append(each)
    return list(groups.values())


def _group(group: Sequence[SuppressedFinding]) -> str:
    """The finding that takes the most to come back stands for all of them."""
    hardest = max(group, key=lambda each: each.release)
    what = f"{name_count(len(group), 'finding')} of {inline_code(hardest.finding.rule)}"
    return f"- {what} {_because(hardest)} {_way_back(hardest, 'it' if len(group) == 1 else 'them')}"


def _because(held: SuppressedFinding) -> str:
    if held.why is SuppressionReason.reworded:
        return (
            f"at {inline_path(held.finding.where)}: people dismissed the same finding "
            f"there in other words{_list_ids(held.memories)}."
        )
    weight = held.weight
    times = [f"{_times(weight.here)} there"] if weight.here else []
    times += [f"{_times(weight.elsewhere)} elsewhere"] if weight.elsewhere else []
    return f"{_in_folder(parent_folder(held.finding.path))}: dismissed {' and '.join(times)}{_list_ids(held.memories)}."


def _way_back(held: SuppressedFinding, them: str) -> str:
    undismiss = f"`/forge undismiss {held.finding.id}`"
    if held.release > 1:
        return f"{undismiss} undoes {held.release} dismissals, which makes {them} count again."
    forget = f" or `/forge forget {held.memories[0]}`" if held.memories else ""
    return f"{undismiss}{forget} makes {them} count again."


# --- receipts -----------------------------------------------------------------------------------------------


def describe_learned(taught: Iterable[str]) -> str:
    """Follows the receipt of a dismissal.

    :param taught: the memories, as they are shown.
    """
    return f"Learned ({name_some(taught, MOST_NAMED)}): {ONLY_DISMISSED}."


def confirm_remember(memory: Memory, is_new: bool) -> str:
    """The receipt for ``remember``."""
    if is_new:
        return f"Learned: {_quote(memory)} ({memory.short_id}). `/forge forget {memory.short_id}` undoes this."
    return (
        f"Already known, now confirmed: {_quote(memory)} ({memory.short_id}, confidence {memory.confidence:.2f}). "
        f"`/forge forget {memory.short_id}` undoes this."
    )


SWITCHED_OFF = "Forge learned nothing: `memory: {enabled: false}` in `.github/forge.yml` switches learning off here."
"""For ``remember`` where the repository does not want Forge to learn."""


def no_room(most: int) -> str:
    """For ``remember`` where as many memories live as may, and none gives way.

    :param most: memories that may live there.
    """
    if not most:
        return "Forge learned nothing: `memory: {max: 0}` in `.github/forge.yml` keeps no memories here."
    return (
        f"Forge learned nothing: the limit of pinned memories is reached (`memory.max`: {most:,}). "
        "Make room with `/forge forget M-ID`, or the operator runs `forge memory archive M-ID`."
    )


def no_such_proposal(name: str) -> str:
    """For ``remember`` with the name of nothing that waits."""
    return f"Nothing named {inline_code(name)} waits to be remembered here. `/forge status` names what does."


def render_proposed(proposed: Sequence[Memory], left: int) -> str:
    """What Forge proposes to remember, for ``status``; at least one.

    :param left: how many more wait.
    """
    lines = [f"- {each.short_id}: {_quote(each)}" for each in proposed]
    more = [f"- and {left} more"] if left else []
    how = "`/forge remember M-ID` keeps one, `/forge forget M-ID` drops it; until then no agent is told:"
    return "\n".join([f"**Forge proposes to remember.** {how}", "", *lines, *more])


SECRET_REFUSED = (
    "Forge learned nothing: the text seems to contain a credential. Delete the comment, revoke the "
    "credential, and write the text again without it."
)
"""For a text with a credential in it."""


def confirm_forget(memory: Memory, undone: Sequence[FindingFeedback]) -> str:
    """The receipt for ``forget``.

    :param undone: the dismissals that taught it, which are taken back with it.
    """
    if not undone:
        return f"Forgotten ({memory.short_id}): {_quote(memory)}"
    names = name_some((f"**{past.name}** of pull request {past.number}" for past in undone), MOST_NAMED)
    taught, count = ("dismissal", "counts") if len(undone) == 1 else ("dismissals", "count")
    is_back = f"the {taught} that taught it {'is' if len(undone) == 1 else 'are'} taken back"
    return f"Forgotten ({memory.short_id}), and {is_back}: {names} {count} again."


def already_forgotten(memory: Memory) -> str:
    why = memory.archived_why.value if memory.archived_why is not None else "forgotten"
    return f"{memory.short_id} no longer counts ({why}): {_quote(memory)}"


def no_such_memory(name: str) -> str:
    """For a memory this repository does not have."""
    return (
        f"There is no memory {inline_code(name)} here. The receipts of `/forge "
        "remember` and `/forge dismiss` name memories, "
        "and `/forge why F-ID` those about a finding."
    )


def refuse_shared_memory(memory: Memory, repository: str | None) -> str:
    """For a memory that another repository of the organisation shares.

    :param repository: its full name; None if that is not known, or it does not share any more.
    """
    where = (
        "in the repository of this organisation that taught it"
        if repository is None
        else f"in {inline_code(repository)}"
    )
    return (
        f"{memory.short_id} is shared and cannot be forgotten here: `/forge forget "
        f"{memory.short_id}` {where} forgets it."
    )


def which_memory(name: str, memories: Sequence[Memory]) -> str:
    """For a short name that several have."""
    lines = [f"- `/forge forget M-{memory.id}`: {_quote(memory)}" for memory in memories]
    return "\n".join([f"{inline_code(name)} fits several memories. Which one do you mean?", "", *lines])


def confirm_similar_undismissal(finding: Finding, undone: Sequence[FindingFeedback]) -> str:
    """The receipt for ``undismiss`` of a finding that was held back because of its like."""
    told = (
        f"{past.name} ({inline_code(past.rule)} in {inline_code(past.path)}, by {inline_code(past.by)})"
        for past in undone
    )
    names = name_some(told, MOST_NAMED)
    return f"**{finding.id}** counts again: {name_count(len(undone), 'dismissal')} of similar findings undone: {names}."


# --- why ----------------------------------------------------------------------------------------------------


def answer_why(evidence: Evidence) -> str:
    """Answers ``why``: what led to a finding, and what people's dismissals make of it."""
    finding = evidence.finding
    parts = [
        f"**{finding.id}** · {finding.severity.value} · {finding.category.value} · {inline_path(finding.where)}",
        _origin(evidence),
        _state(evidence),
        _sum(evidence.weight, evidence.exempt) if evidence.weight is not None else _OFF,
        _dismissals(evidence),
        _list_memories(evidence.memories),
    ]
    return "\n\n".join(part for part in parts if part)


_EXEMPT = (
    "Forge raises it in any case. What people dismissed of its like suppresses no credentials, no critical findings "
    "and no errors of security or data loss. Nor does it suppress findings of giving up: their detectors have own "
    "records."
)
_OFF = "Forge learns nothing here (`memory.enabled`), so only its own dismissal would mute it."


def _origin(evidence: Evidence) -> str:
    finding = evidence.finding
    by = {1: "static analysis", 2: "a security check", 3: "the model"}[finding.layer.value]
    text = f"Raised by {by}, rule {link(finding.rule, finding.help_url)}: {escape(finding.message, 300)}"
    if evidence.heads is not None:
        first, last = (inline_code(head[:7]) for head in evidence.heads)
        text += f" First found at head {first}" + ("." if first == last else f", last at {last}.")
    return text


def _state(evidence: Evidence) -> str:
    past = evidence.dismissal
    if past is not None:
        return f"**Muted**: {_dismissal(past)}"
    if evidence.held is not None:
        return f"**Suppressed** {_because(evidence.held)} {_way_back(evidence.held, 'it')}"
    return ""


def _sum(weight: AdjustedConfidence, exempt: bool) -> str:
    """The arithmetic of the confidence."""
    below = _EXEMPT if exempt else f"Below {MIN_CONFIDENCE:.2f} it would be suppressed."
    terms: list[str] = []
    if weight.alone:
        below = f"Only {inline_code(weight.alone)} dismissed findings of its rule, which takes nothing off. {below}"
    else:
        terms += _term(weight.here, weight.kept_here, weight.here_takes, "in this folder")
        terms += _term(weight.elsewhere, weight.kept_elsewhere, weight.elsewhere_takes, "elsewhere")
    stated = "" if weight.effective == weight.stated else f"{weight.stated:.2f} as stated"
    sum_ = ", ".join(filter(None, (stated, *terms)))
    return f"Confidence: **{weight.effective:.2f}**{f' ({sum_})' if sum_ else ''}. {below}"


def _term(dismissed: int, kept: int, takes: float, where: str) -> list[str]:
    if not dismissed:
        return []
    gave = f" less {kept} taken up" if kept else ""
    taken = f"−{takes:.2f}" if takes else "nothing off"
    return [f"{taken} for {name_count(dismissed, 'dismissal')} of its rule {where}{gave}"]


def _dismissals(evidence: Evidence) -> str:
    if not evidence.past:
        return "" if evidence.weight is None else "No other finding of its rule has been dismissed here."
    newest = list(reversed(evidence.past))
    lines = [f"- {_dismissal(past)}" for past in newest[:MOST_NAMED]]
    left = len(newest) - len(lines)
    return "\n".join(["Dismissals of its rule here:", "", *lines, *([f"- and {left} earlier"] if left > 0 else [])])


def _dismissal(past: FindingFeedback) -> str:
    memory = f" ({past.short_memory_id})" if past.memory_id else ""
    where = f"{past.name} in {inline_code(past.path)}, pull request {past.number}"
    return f"{where}, by {inline_code(past.by)} on {format_day(past.at)}: {escape(past.reason, 200)}{memory}"


def _list_memories(memories: Sequence[Memory]) -> str:
    if not memories:
        return ""
    lines = [f"- {memory.short_id}: {_quote(memory)}" for memory in memories[:MOST_NAMED]]
    return "\n".join(["Memories that led to it:", "", *lines])


# --- words --------------------------------------------------------------------------------------------------


def _quote(memory: Memory) -> str:
    return escape(memory.content, _SAID)


def _in_folder(where: str) -> str:
    return f"in {inline_code(where)}" if where else "at the root"


def _list_ids(memories: Sequence[str]) -> str:
    return f" ({', '.join(memories[:MOST_NAMED])})" if memories else ""


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


# --- what became of a memory ---------------------------------------------------------------------------------

USES = {
    "recurred": "taught again",
    "applied": "helped",
    "confirmed": "confirmed by a person",
    "dismissed": "doubted by a person",
}
OUTCOMES = {"": "nothing known yet", "helped": "helped", "ignored": "was not used"}


def describe_memory_event(event: Event) -> str:
    """What an event says that happened to a memory."""
    by = f" by {flatten_redacted(str(event.payload.get('by', '')))}" if event.payload.get("by") else ""
    if event.type is EventType.memory_edited:
        return f"edited{by}; before: {_describe_change(event.payload)}"
    if event.type is EventType.learning_stored:
        return f"learned by looking back at run {event.trace}"
    return f"{event.type.value.removeprefix('memory.')}{by}"


def _describe_change(payload: Mapping[str, Any]) -> str:
    """The parts that an edit changed, as they were before."""
    before, after = payload.get("before", {}), payload.get("after", {})
    parts = [f"{name} “{flatten_redacted(_text(value))}”" for name, value in before.items() if value != after.get(name)]
    return ", ".join(parts)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
