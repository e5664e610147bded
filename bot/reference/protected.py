"""Writes the page of protected files from their table."""

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator

from safety.plan_risk import MORE_FOR_AGENTS
from safety.protected_files import TABLE, ProtectedFiles

_INTRODUCTION = """\
# Protected files

Files that decide what is run and who may do what. `paths.protected` in `.github/forge.yml` adds yours to the first
list.

- **Forge's agents leave them alone**, external ones too. Where a plan names some, a maintainer may allow exactly these
  at `protected_paths`; git's own files never.
- **A plan** that names one is of high risk, so a person decides about it.
- **A pull request** that changes one is never of low risk: Forge neither approves nor merges it unasked.

Names count without case, invisible characters, and dots and spaces at their end.

## These ask a maintainer

At the gate `protected_paths`, and not the author: such a file has run with secrets or moved a right before anybody
reads it. The gate holds the merge. Only the CI itself can hold what it starts on a push.

So does whatever lies where such programs keep their settings, but is not known as harmless: a hidden file or folder at
the root, and YAML, TOML or JSON in `.github/`. Settings of formatters, linters, tests and documents are known.
"""
_KEPT = """\
## These are only kept from agents

They act after a review, or with the rights of whoever fetched the branch. Every team edits them; name those that shall
ask in `paths.protected`.
"""


def markdown() -> str:
    """The whole page."""
    more = ", ".join(f"`{pattern}`" for pattern in MORE_FOR_AGENTS)
    parts = [
        _INTRODUCTION,
        *_list_groups(row for row in TABLE if row.asks),
        "",
        _KEPT,
        *_list_groups(row for row in TABLE if not row.asks),
        "",
        f"Also kept from agents, and of high risk in a plan: lock files, and migrations by {more}.",
        "And the files of `review.instructions`, because agents follow them; a plan may name these at any risk.",
    ]
    return "\n".join(parts) + "\n"


def _list_groups(rows: Iterable[ProtectedFiles]) -> Iterator[str]:
    """What is done with the files, and below it each reader that does so."""
    groups = defaultdict[str, list[str]](list)
    for row in rows:
        groups[row.runs].append(f"{row.reader}: {' '.join(f'`{pattern}`' for pattern in row.patterns)}")
    for runs, readers in groups.items():
        yield f"- **{runs[0].upper()}{runs[1:]}**"
        for each in readers:
            yield textwrap.fill(each, 120, initial_indent="    - ", subsequent_indent="      ", break_on_hyphens=False)
