"""Writes ``docs/commands.md`` from the table of verbs that ``/forge help`` answers with."""

from domain.slash.verbs import VERBS
from domain.text.escaping import inline_code
from messages.commands import render_verb

_INTRODUCTION = """\
# Commands

Write `/forge VERB …` in a comment on a pull request, in the body of a review, or in a reply to a finding. This page is
generated from the code; `/forge help` shows the same table.

- **One command per line, at the start of the line.** Several lines are several commands, executed in order.
- **Only plain text counts.** Quotes, code, headings, links, HTML comments, edited comments and comments by Apps are
  ignored.
- **Permissions** are checked with GitHub when the command arrives (read < triage < write < maintain < admin). Accounts
  are compared by their number, so a login that was registered again has no rights.
- Every command is acknowledged with 👀 and gets **one answer** per comment, including refusals and typing mistakes.
  A decision at a gate gets 👍 instead: the comment that asked shows it.
- In a **reply to a finding** its id may be left out: `/forge dismiss we want this here`.
- A **question needs no command** where it is clear that Forge is asked: in a review thread right below its comment, or
  in a comment that quotes what Forge wrote or mentions it. Forge answers those with the role write as `/forge ask`
  does. Words that **mention** it on a pull request and want something done are carried out as `/forge do` is
  ([instructions.md](instructions.md)); to other such words it names the commands, and nothing else follows from them
  outside of a finding's thread.
- **Not the author unless alone**: if you opened the pull request, or pushed a part of it that nobody else approved
  ([gates.md](gates.md)), you may use such a command only if nobody else has the role. The receipt and the audit then
  say so. Where gates take two people, so do these commands: the first is noted, and takes effect when somebody else
  with the role writes the same, for whatever reason. `violation` and `needs-review` take one.
- Resolving a finding's thread without changing the line also dismisses it, if the person may dismiss it. A critical
  security finding is dismissed by command only. Authors who resolve a thread of their own change dismiss nothing.
- **Review again** on the check `Forge / review` is the same as `/forge review full`, and so is the label `forge`
  (`labels.run` in `.github/forge.yml`) on a pull request.
- Each comment and each press of a button acts once, even if somebody else sends its webhook again. Commands also work
  in a locked conversation, but GitHub does not let an App answer there.
"""


def markdown() -> str:
    """The whole page."""
    working = [render_verb(row) for row in VERBS.values() if row.works]
    later = [f"- {inline_code(f'/forge {row.usage}')}: {row.meaning}" for row in VERBS.values() if not row.works]
    head = ["## Working now", "", "| command | minimum role | meaning |", "| --- | --- | --- |"]
    then = ["", "## Understood, and answered with “not available yet”", ""]
    return "\n".join([_INTRODUCTION, *head, *working, *(then if later else []), *later, ""])
