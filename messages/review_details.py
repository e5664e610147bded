"""The folded part of a review's check: risk, what ran or was left out, dismissals, and findings as a list."""

from collections.abc import Collection, Sequence

from domain.money import format_usd
from domain.paths import escape_unprintable
from domain.review.changes import LockChange, PackageMove, SkippedFile
from domain.review.findings import Finding, Layer, Severity
from domain.review.reading import HeldConventions, LookUps, ShownFile
from domain.review.review import LayerReport, Review, RiskLevel, ToolRun, find_repeated
from domain.text.escaping import code_block, escape, inline_code, inline_path, name_count, strip_invisible
from domain.text.redaction import redact_outgoing
from messages.inline_comments import link_rule
from messages.memory import render_suppressed
from messages.proofs import find_shown_test
from safety.risk import RISKY

LAYERS = {Layer.static: "static analysis", Layer.security: "security", Layer.model: "model"}


def render_details(review: Review) -> str:
    """All that the author need not read to go on, under one line that says what it is."""
    parts = [
        _list_dismissed(review),
        render_suppressed(review.held),
        _tell_late(review.late),
        render_risk(review),
        _layers(review),
        _not_looked_at(review),
        _list_conventions(review.conventions),
        _footer(review),
    ]
    told = "\n\n".join(part for part in parts if part)
    return f"<details><summary>{_summarise(review)}</summary>\n\n{told}\n\n</details>"


def _summarise(review: Review) -> str:
    unseen = sum(not each.by_model for each in review.not_looked_at)
    muted = len(review.dismissed) + len(review.in_history_dismissed) + len(review.held)
    told = [
        f"Risk {review.risk.level.value}" if review.risk.level.is_high else "Risk",
        "what ran",
        *([f"{name_count(unseen, 'file')} not checked"] if unseen else []),
        *([f"{name_count(muted, 'finding')} dismissed or suppressed"] if muted else []),
        f"{review.seconds:.1f} s",
    ]
    return " · ".join(told)


def _tell_late(late: int) -> str:
    """How many remarks of a model come too late to be said."""
    if not late:
        return ""
    remarks = "1 remark is" if late == 1 else f"{late:,} remarks are"
    told = f"{remarks} not said here, because an earlier review passed the lines"
    return f"{told}: a push is reviewed for what it changes, and for errors. `/forge review full` reads all again."


def _list_dismissed(review: Review) -> str:
    dismissed = (*review.dismissed, *review.in_history_dismissed)
    if not dismissed:
        return ""
    rows = [
        f"- {inline_path(f.where)} {escape(f.message, 160)} ({link_rule(f)}, {f.id}){_explain_pass(f, review)}"
        for f in dismissed[:20]
    ]
    left = len(dismissed) - len(rows)
    intro = "People dismissed these, so they do not count. Undo with `/forge undismiss F-ID`."
    return "\n".join(["### Dismissed", "", intro, "", *rows, *([f"- and {left} more"] if left > 0 else [])])


def _explain_pass(finding: Finding, review: Review) -> str:
    """By which dismissal it passes, if that is why."""
    listed = review.judged.passing.get(finding.fingerprint)
    return f": {escape(listed, 300)}" if listed else ""


def render_risk(review: Review) -> str:
    head = f"### Risk: {review.risk.level.value} ({review.risk.score} of 100)"
    if not review.risk.parts:
        return f"{head}\n\nNothing in it raises the risk."
    rows = [f"| +{part.points} | {escape(part.text)} |" for part in review.risk.parts]
    return "\n".join([head, "", "| points | why |", "| --- | --- |", *rows, *_explain_levels(review)])


def _explain_levels(review: Review) -> list[str]:
    """From where on a level is the next, and a person is asked; nothing where the risk is low."""
    if review.risk.level is RiskLevel.low:
        return []
    asked = (
        f"Points besides those for changed behaviour: {review.risk.score_of_facts}; from {RISKY} on a person is asked."
    )
    levels = "Medium is 25 to 49, high 50 to 74, critical more."
    has_failed = any(tool.problem for layer in review.layers if layer.layer is Layer.model for tool in layer.tools)
    return ["", levels if review.read_by_model or has_failed else f"{levels} {asked}"]


def _layers(review: Review) -> str:
    head = ["### What ran", "", "| check | tool | files | time | |", "| --- | --- | --- | --- | --- |"]
    told = {reason.text for reason in review.reasons}  # why a layer could not run, above all this
    rows = [row for layer in review.layers for row in _layer_rows(layer, told)]
    return "\n".join([*head, *rows, *(["", escape(review.sandbox)] if review.sandbox else [])])


def _layer_rows(layer: LayerReport, told: Collection[str]) -> list[str]:
    name = LAYERS[layer.layer]
    rows = [
        f"| {name} | {inline_code(tool.tool)} | {tool.files} | {tool.seconds:.2f} s | {_render_outcome(tool)} |"
        for tool in layer.tools
        if tool.files or tool.tokens or tool.problem
    ]
    if layer.missing is not None and layer.missing not in told:
        rows.append(f"| {name} | | | | ⚠️ {escape(layer.missing, 300)} |")
    if layer.cut:
        cut = name_count(layer.cut, "more finding")
        rows.append(f"| {name} | | | | ⚠️ {cut} left out: Forge keeps so many of a file or tool, the gravest first |")
    if layer.look_ups is not None:
        rows.append(f"| {name} | looked up | | | {_tell_look_ups(layer.look_ups)} |")
    if layer.note is not None:
        rows.append(f"| {name} | | | | {escape(layer.note, 300)} |")
    return rows


def _tell_look_ups(made: LookUps) -> str:
    """What the model looked up before it answered, of what it might, and what that cost."""
    uses = ", ".join(f"{tool} {count}" for tool, count in made.used.items())
    bound = f"of {name_count(made.most_turns, 'message')} and {made.most_tokens:,} tokens it might have used"
    if not made.turns:
        return f"nothing, {bound}; offered because {made.why}"
    took = f"{uses}, in {name_count(made.turns, 'message')} with {made.tokens:,} tokens of answers"
    return f"{took}, {bound}; {format_usd(made.cost)}; offered because {made.why}"


def _render_outcome(tool: ToolRun) -> str:
    return f"⚠️ {escape(tool.problem.removeprefix(f'{tool.tool} '), 200)}" if tool.problem else "done"


def _not_looked_at(review: Review) -> str:
    """What nothing looked at; and apart from it, because it is nothing unusual, what only the model did not read."""
    unread = [each for each in review.not_looked_at if each.by_model]
    others = [each for each in review.not_looked_at if not each.by_model]
    parts = (_list_skipped("Not checked", others), _list_skipped("Not read by the model", unread))
    return "\n\n".join(part for part in parts if part)


def _list_skipped(title: str, entries: Sequence[SkippedFile]) -> str:
    if not entries:
        return ""
    rows = [f"- {inline_path(entry.path)}: {escape(entry.reason)}" for entry in entries[:30]]
    left = len(entries) - len(rows)
    return "\n".join([f"### {title}", "", *rows, *([f"- and {left} more"] if left > 0 else [])])


def _list_conventions(held: HeldConventions) -> str:
    """Which conventions of the repository the change was held against; nothing where it has none."""
    rows = [f"- {inline_path(each.path)}{_tell_cut(each)}" for each in held.files]
    rows += [f"- {inline_path(each.path)}: not read, {escape(each.reason)}" for each in held.left_out[:30]]
    if not rows and not held.problem:
        return ""
    intro = "The repository's own, as its default branch has them."
    meant = "What breaks one is a warning at most."
    then = "No sentence there is a rule for code like this." if held.says_nothing else meant
    return "\n".join(["### Conventions", "", " ".join(filter(None, (intro, then, escape(held.problem)))), "", *rows])


def _tell_cut(file: ShownFile) -> str:
    return f": the first {file.shown:,} of {file.shown + file.cut:,} lines, for want of room" if file.cut else ""


def _footer(review: Review) -> str:
    told = [
        f"{name_count(review.files, 'file')}{_tell_lines(review)}",
        f"{review.merge_base[:7]}…{review.head_sha[:7]}",
        *_cost(review),
    ]
    return f"<sub>{' · '.join(told)}</sub>"


def _tell_lines(review: Review) -> str:
    """How many lines changed, and in how many files where those of others are not counted."""
    if review.uncounted >= review.files:
        return ""
    counted = f" in {review.files - review.uncounted} of them: no lock, generated or binary file counts"
    return f", +{review.additions} −{review.deletions}{counted if review.uncounted else ''}"


def _cost(review: Review) -> list[str]:
    """What the model took; nothing where none was asked."""
    tools = [tool for layer in review.layers if layer.layer is Layer.model for tool in layer.tools]
    if not tools:
        return []
    tokens, cost = sum(tool.tokens for tool in tools), sum(tool.cost for tool in tools)
    if not tokens and cost:
        return [f"{format_usd(cost)} counted for calls that broke off: the provider may charge them"]
    return [f"{tokens:,} tokens{f', {format_usd(cost)}' if cost else ''}"]


_MOST_FILES = 5
_VERSION = 40  # characters of one


def render_locks(locks: Sequence[LockChange]) -> str:
    """A line for each lock file; nothing where a change has none."""
    rows = [f"**{inline_path(each.path)}:** {_tell(each)}" for each in locks[:_MOST_FILES]]
    left = len(locks) - len(rows)
    return "\n\n".join([*rows, *([f"And {left} more lock file{'' if left == 1 else 's'}."] if left > 0 else [])])


def _tell(lock: LockChange) -> str:
    if lock.is_new:
        return f"new, with {lock.count:,} package{'' if lock.count == 1 else 's'}."
    told = ", ".join(map(_tell_move, lock.moves)) or "no pinned dependency changed"
    more = f" and {lock.count - len(lock.moves):,} more" if lock.count > len(lock.moves) else ""
    hosts = f" For the first time from {', '.join(map(inline_code, lock.hosts))}." if lock.hosts else ""
    return f"{told}{more}.{hosts}"


def _tell_move(move: PackageMove) -> str:
    name, before, after = inline_code(move.name), _join(move.before), _join(move.after)
    if move.before and move.after:
        return f"{name} {before} → {after}"
    return " ".join(filter(None, (name, after, "is new"))) if move.after else f"{name} {before} is gone"


def _join(versions: Sequence[str]) -> str:
    return " and ".join(escape(version, _VERSION) for version in versions)


_MOST, _LONGEST, _MOST_TEXT = 40, 1_500, 20_000  # findings; characters of a message and of the list
_TASK = "Fix each of these at its cause, and keep all other behaviour."


def render_worklist(findings: Sequence[Finding]) -> str:
    """The list, folded; empty without findings. It belongs where every push writes anew, so that its lines are right.
    What is only a remark is there if a fix of it is known.

    :param findings: the gravest first.
    """
    entries, repeated = list[str](), find_repeated(findings)
    findings = [
        each for each in findings if each.id not in repeated and (each.fix or each.severity is not Severity.info)
    ]
    for finding in findings[:_MOST]:
        entry = _render_entry(finding)
        if sum(map(len, entries)) + len(entry) > _MOST_TEXT:
            break
        entries.append(entry)
    if not entries:
        return ""
    left = len(findings) - len(entries)
    rest = [f"{left} more: once these are mended, Forge lists them here."] if left else []
    wish = code_block("\n\n".join([_TASK, *entries, *rest]))
    return f"<details><summary>For your coding agent</summary>\n\n{wish}\n\n</details>"


def _render_entry(finding: Finding) -> str:
    message = strip_invisible(redact_outgoing(finding.message[:_LONGEST])).strip()
    told = f"{finding.id} {escape_unprintable(finding.where)} ({finding.severity.value}): {message}"
    test = find_shown_test(finding)
    if test is None:
        return told
    shown = strip_invisible(test.text).strip()
    path = escape_unprintable(test.path)
    return f"{told}\nThis test fails now and has to pass. Add it as {path}:\n\n{shown}"
