"""Writes the page of protected files from their table."""

from collections.abc import Iterable, Iterator

from safety.plan_risk import MORE_FOR_AGENTS
from safety.protected_files import TABLE, ProtectedFiles

_INTRODUCTION = """\
# Protected files

Some files decide what is run and who may do what. This page names those that Forge protects by itself, what reads each,
and with which secrets. It is generated from the table that Forge itself goes by. `paths.protected` in
`.github/forge.yml` adds files of a repository to the first list.

For all of them:

- **Forge's own agents leave them alone**, external ones in the shadow too. Where a plan names some, a maintainer may
  let agents change exactly these at `protected_paths`; git's own files never.
- **A plan that names one is of high risk**, so it waits for a person.
- **A pull request that changes one is never of low risk**, whoever wrote it: Forge neither approves nor merges it by
  itself, and a model reads it where one is set up.

A name counts as the most forgiving of disks reads it: without case, without characters that nobody sees, without dots
and spaces at its end. `**` stands for any folders, `*` for anything within one, `{a,b}` for either.

## These ask everybody

Where a pull request changes one, `protected_paths` asks a maintainer who is not its author: by the time somebody else
reads it, it has run with secrets or has moved a right. The gate holds the merge; what a CI starts by itself on a push
only that CI can hold, as its settings for pull requests of strangers do.
"""
_KEPT = """\
## These are kept from agents only

Every team edits these, and they act after a review or with the rights of whoever fetched the branch. A gate at each
change would be noise; name what you want asked in `paths.protected`.
"""
_HEAD = ("| read by | files | what it does with them | why |", "| --- | --- | --- | --- |")


def markdown() -> str:
    """The whole page."""
    more = ", ".join(f"`{pattern}`" for pattern in MORE_FOR_AGENTS)
    parts = [
        _INTRODUCTION,
        *_list_rows(row for row in TABLE if row.asks),
        "",
        _KEPT,
        *_list_rows(row for row in TABLE if not row.asks),
        "",
        f"Lock files of package managers and migrations ({more}) are kept from agents as well;",
        "a plan that names one is of high risk, too. So are the files that `review.instructions` names",
        "([conventions.md](conventions.md)), because agents follow them; a plan may name these at any risk.",
    ]
    return "\n".join(parts) + "\n"


def _list_rows(rows: Iterable[ProtectedFiles]) -> Iterator[str]:
    """A row says in words only what the one above it does not."""
    yield from _HEAD
    said = ("", "")
    for row in rows:
        files = ", ".join(f"`{pattern}`" for pattern in row.patterns)
        now = (row.runs, row.why)
        runs, why = ("the same" if text == above else text for text, above in zip(now, said, strict=True))
        yield f"| {row.reader} | {files} | {runs} | {why} |"
        said = now
