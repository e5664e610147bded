"""Every text about the earlier tests of a change: what holds, went with its code, changed or is lost."""

from collections.abc import Sequence

from domain.runs.earlier_tests import EarlierOutcome, EarlierTest, EarlierTests, Fate, list_gone_names
from domain.text.escaping import code_block, escape, inline_code, inline_path

_ROWS = 25  # of the table
_NAMES = 10
_LINES = 3  # of a test, in a cell
_OUTPUT = 15  # lines
_REASONS = 5

_FATES = {
    Fate.removed: "The change takes this test away, or nothing runs it any more.",
    Fate.skipped: "The change skips this test, or expects it to fail.",
    Fate.rewritten: "The change rewrites this test so that it demands less.",
    Fate.surroundings: "The test is the same, and what it shares with others checks less, or keeps it from failing.",
}

UNDER_WAY = "The earlier tests are under way: the tests that this change touches, as they were, on its code."


def render_earlier_tests(found: EarlierTests) -> str:
    """The part of the check about the earlier tests; empty if the change touches none."""
    parts = [
        _count_holding(found),
        *(_describe_lost(each) for each in found.lost),
        _tabulate_changed(found.changed),
        _name_open(found.select(EarlierOutcome.open)),
        _name_gone(found),
        _explain_unknown(found),
    ]
    return "\n\n".join(part for part in parts if part)


def title_finding(test: EarlierTest) -> str:
    """What a finding about a lost test is called."""
    return f"The earlier test {_shorten(test.id)} fails on the new code"


def describe_finding(test: EarlierTest) -> str:
    """What a finding about a lost test says: what it demanded, how it failed, what became of it, what to do."""
    demanded = code_block("\n".join(test.demanded)) if test.demanded else ""
    output = "\n".join(test.output.strip().split("\n")[-_OUTPUT:])
    parts = [
        f"{inline_code(test.id)} passed before this change and fails on its code. {_FATES[test.fate]}",
        f"It demanded:\n\n{demanded}" if demanded else "",
        f"It printed last:\n\n{code_block(output)}" if output else "",
        advise(test),
    ]
    return "\n\n".join(part for part in parts if part)


def advise(test: EarlierTest) -> str:
    """What to do about a lost test."""
    return (
        "Mend the code so that the test passes, and restore the test. If the behaviour was meant to change, let a test "
        "demand the new behaviour in its place, or say so to whoever reviews."
    )


def _count_holding(found: EarlierTests) -> str:
    if not found.holding:
        return ""
    return f"{_count(found.holding, 'earlier test')} that this change touches still hold{'s' * (found.holding == 1)}."


def _describe_lost(test: EarlierTest) -> str:
    where = f"{test.path}:{test.line}" if test.line else test.path
    return f"**{escape(title_finding(test), 300)}** ({inline_path(where)}). {_FATES[test.fate]}"


def _tabulate_changed(tests: Sequence[EarlierTest]) -> str:
    if not tests:
        return ""
    cells = [(inline_code(_shorten(each.id)), _cell(each.demanded), _cell(each.now)) for each in tests[:_ROWS]]
    rows = [f"| {' | '.join(row)} |" for row in cells]
    head = "**Behaviour that tests show to have changed**\n\n| Test | Before | Now |\n| --- | --- | --- |"
    more = f"\n\nAnd {_count(len(tests) - _ROWS, 'more test')}." if len(tests) > _ROWS else ""
    return "\n".join([head, *rows]) + more


def _cell(lines: Sequence[str]) -> str:
    return "<br>".join(inline_code(line, 160) for line in lines[:_LINES]) or "–"


def _name_open(tests: Sequence[EarlierTest]) -> str:
    if not tests:
        return ""
    named = ", ".join(inline_code(_shorten(each.id)) for each in tests[:_NAMES])
    return (
        f"{_count(len(tests), 'earlier test')} will still be seen to fail, as what stands in the place fails: {named}."
    )


def _name_gone(found: EarlierTests) -> str:
    gone = found.select(EarlierOutcome.gone)
    if not gone:
        return ""
    names = list_gone_names(gone)
    named = ", ".join(inline_code(name) for name in names[:_NAMES])
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{_count(len(gone), 'earlier test')} went with the code: the program has {named}{more} no more."


def _explain_unknown(found: EarlierTests) -> str:
    unknown = len(found.select(EarlierOutcome.unknown))
    parts = [f"{_count(unknown, 'earlier test')} could not be judged."] if unknown else []
    parts += [f"{_count(found.left_out, 'earlier test')} left out, as there are too many."] if found.left_out else []
    if found.not_run and not unknown:
        parts.append("Some earlier tests could not be run.")
    return " ".join([*parts, *(escape(why, 400) for why in found.not_run[:_REASONS])])


def _shorten(test: str) -> str:
    return test if len(test) <= 120 else f"…{test[-119:]}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
