"""Writes ``docs/commands.md`` from the table of verbs that ``/forge help`` answers with."""

from domain.verbs import VERBS, Verb, find_role
from messages.commands import render_verb

_DISMISSES, _ASKS, _HAS_DONE = find_role(Verb.dismiss), find_role(Verb.ask), find_role(Verb.do)
_INTRODUCTION = f"""\
# Pull requests and commands

## When Forge reviews your pull request

1. **Read the check** `Forge / review` first: the verdict, then what to do next. Comments on lines are the findings.
2. **A finding is right:** fix it and push. Forge looks again, resolves the thread if nobody else wrote in it, and
   repeats nothing. `/forge fix all` fixes what can be fixed, in one commit; *For your coding agent*, folded in the
   check, is a list for yours.
3. **A finding is shown by running:** the failing test is folded below it. Copy it to its path, or let
   `/forge fix F-ID` commit a change with which it passes.
4. **A finding is wrong:** somebody else with the role {_DISMISSES} replies `/forge dismiss` and why; you may if nobody else
   has it. Warnings hold nothing; errors and questions to people do. Or say in the thread why it is wrong: Forge weighs
   that with the code, and says what makes you right or which line speaks against it. Words alone lift nothing that
   blocks.
5. **You do not understand it:** reply `/forge explain`, or ask in the thread.
6. **Forge waits for a person:** the comment of the [gate](gates.md) says who may answer, and until when.

## How commands are read

Write `/forge VERB …` in a comment, a review or a reply to a finding. `/forge help` shows the table below.

- **One command a line**, at its start, up to 20. Quotes, code, headings, links, HTML comments, edited comments and
  comments of Apps are not read.
- **One answer per comment**, also to mistakes and refusals. 👀 says that it was heard, as a mention was; a decision
  at a gate gets 👍.
- **In a reply to a finding** its id may be left out.
- **Roles** are GitHub's (read < triage < write < maintain < admin), asked when the command arrives and again when it
  acts.
- **Not the author where others have it**: an [author of the change](gates.md#who-counts-as-the-author) may use it only
  if nobody else has the role. Where gates take two people, so do these commands, except `confirm`.
- **Questions need no command** where you quote Forge or mention it, and in a review thread right below its comment
  (role {_ASKS}); nothing else in the conversation is taken for one. A mention that wants something done is `/forge do`
  ([instructions](instructions.md)), or the one command that says the same: `update`, `mend`, `tests`, `changelog` or
  `describe`; Forge says which it took. To *look again* it points to `/forge review full`.
- **Answer what Forge asks** by a reply in the thread, a mention or a quote (role {_HAS_DONE}): the same work goes on with it.
- **Words of your own**, such as an instruction or a reason, go on below their line up to the next command. Quotes in
  them are left out.
- **Resolving a finding's thread** without a change dismisses it if you may dismiss it; not an author's own, and no
  critical security finding.
- **Review again** on the check, and the label `forge` on a pull request, are `/forge review full`.
"""  # noqa: E501


def markdown() -> str:
    """The whole page."""
    head = ["## All commands", "", "| command | minimum role | meaning |", "| --- | --- | --- |"]
    return "\n".join([_INTRODUCTION, *head, *map(render_verb, VERBS.values()), ""])
