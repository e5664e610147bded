"""Writes what ``docs/configuration.md`` says about the conditions of gates, from their vocabulary."""

from domain.config.conditions.names import NAMES, KnownName, ValueType
from domain.config.conditions.syntax import LONGEST, MAX_DEPTH, MAX_WILDCARDS

_INTRODUCTION = f"""\
### Conditions

`when` is a condition: something that is true or false of the run. In YAML it is text, so write it in single quotes.

| condition | holds when |
| --- | --- |
| `'true'` | always |
| `'review.lines_changed > 500'` | more than 500 lines change; also `>=`, `<`, `<=`, `==`, `!=` |
| `'10 < review.files_changed <= 50'` | both comparisons hold |
| `'review.risk_level >= "medium"'` | the level is medium, high or critical |
| `'review.author not in ["ann", "dependabot[bot]"]'` | somebody else opened the pull request; logins have no case |
| `'matches(review.paths, "db/**", "*.sql")'` | a changed path matches one of the patterns |
| `'"Dockerfile" in review.paths'` | exactly that path is changed |
| `'review.from_fork and not (review.errors == 0 or review.first_time)'` | `not` before `and` before `or` |

Numbers are compared with numbers and text with text; anything else, a name that does not exist or a word that is not of
this language is a mistake in the file. A condition has at most {LONGEST} characters, {MAX_DEPTH} parentheses and `not`
within each other, and {MAX_WILDCARDS} wildcards in its patterns.

A phase knows some names only: planning and implementation know `plan.` and `run.`, testing those and `testing.`, a
review `review.` and `run.`. Another name in the condition of its gate is a mistake on its line. What a name stands for
may even so **not be known** when the gate is due: where the tests could not be run, nobody knows `testing.failed`. Then
the gate is asked, unless the condition fails whatever the value turns out to be, and says which name was missing.

| name | is | |
| --- | --- | --- |
"""


def markdown() -> str:
    """The part of the page."""
    return _INTRODUCTION + "\n".join(_row(known) for known in NAMES.values())


def _row(known: KnownName) -> str:
    return f"| `{known.name}` | {_kind(known.type)} | {known.about} |"


def _kind(kind: ValueType) -> str:
    if not kind.choices:
        return kind.kind.value
    choices = [f"`{choice}`" for choice in kind.choices]
    return (" < " if kind.ordered else ", ").join(choices)
