"""Writes what ``docs/configuration.md`` says about the conditions of gates, from their vocabulary."""

from domain.config.conditions.names import NAMES, KnownName, ValueType
from domain.config.conditions.syntax import LONGEST, MAX_DEPTH, MAX_WILDCARDS

_INTRODUCTION = f"""\
### Conditions

`when` is a condition: a statement about the run, true or false. In YAML it is text, so write it in single quotes.

| condition | holds when |
| --- | --- |
| `'true'` | always |
| `'review.lines_changed > 500'` | more than 500 lines change; also `>=`, `<`, `<=`, `==`, `!=` |
| `'10 < review.files_changed <= 50'` | both comparisons hold |
| `'review.risk_level >= "medium"'` | the level is medium, high or critical |
| `'review.author not in ["ann", "dependabot[bot]"]'` | somebody else opened the pull request; case does not matter |
| `'matches(review.paths, "db/**", "*.sql")'` | a changed path matches one of the patterns |
| `'"Dockerfile" in review.paths'` | exactly that path is changed |
| `'review.from_fork and not (review.errors == 0 or review.first_time)'` | `not` before `and` before `or` |

Numbers are compared with numbers and text with text; anything else is a mistake in the file, and so are
unknown names and words. A condition has at most {LONGEST} characters, {MAX_DEPTH} nested parentheses and `not`, and
{MAX_WILDCARDS} wildcards in its patterns.

Each phase knows only some names: planning and implementation know `plan.` and `run.`, testing also `testing.`, and a
review `review.` and `run.`. Any other name in the condition of a gate is a mistake on its line. A value may still be
**unknown** when the gate is due: if the tests could not run, `testing.failed` is unknown. Then Forge asks at the gate
and says which name is unknown, unless the condition is false for every possible value.

| name | is | |
| --- | --- | --- |
"""


def markdown() -> str:
    """This part of the page."""
    return _INTRODUCTION + "\n".join(_row(known) for known in NAMES.values())


def _row(known: KnownName) -> str:
    return f"| `{known.name}` | {_kind(known.type)} | {known.about} |"


def _kind(kind: ValueType) -> str:
    if not kind.choices:
        return kind.kind.value
    choices = [f"`{choice}`" for choice in kind.choices]
    return (" < " if kind.ordered else ", ").join(choices)
