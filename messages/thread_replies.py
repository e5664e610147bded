"""What Forge answers in the thread of a finding to a person's words."""

from domain.review.findings import Finding
from domain.text.escaping import escape
from messages.commands import explain_doubt
from safety.authorization import CommandRefusal, RefusalCode

_LONGEST = 1_200  # characters of what a model says


def render_answer(told: str) -> str:
    """The answer to a question."""
    return escape(told, _LONGEST)


def confirm_dismissal(receipt: str) -> str:
    """The receipt of a dismissal that was said in a person's own words."""
    return f"Read as a dismissal. {receipt}"


def ask_for_command(finding: Finding) -> str:
    """Somebody who may dismiss it disagrees with a finding that blocks: a model's reading of words lifts none."""
    return f"Noted. **{finding.id}** blocks, so only a command dismisses it: `/forge dismiss {finding.id} reason`."


def ask_about_dismissal(finding: Finding) -> str:
    """Somebody who may dismiss it seems to disagree."""
    return (
        f"If **{finding.id}** is wrong or not wanted here, `/forge dismiss {finding.id} reason` dismisses "
        "it, and Forge does not raise it again."
    )


def point_to_commands(name: str = "F-ID", *, on_issue: bool = False) -> str:
    """Somebody asks in words for something to be done.

    :param name: of the finding they speak of.
    """
    some = f"`/forge fix {name}` fixes it in a commit, `/forge do INSTRUCTION` carries something out"
    if on_issue:
        some = "`/forge plan` plans this issue, `/forge run` carries it out"
    return (
        f"Words alone start nothing here, so that nothing starts by mistake. {some}; `/forge help` lists all commands."
    )


def confirm_hint(finding: Finding, refused: CommandRefusal | None = None) -> str:
    """Somebody who may not dismiss it disagrees.

    :param refused: why they may not.
    """
    if refused is not None and refused.code is RefusalCode.second:
        return (
            f"Noted as a hint: **{finding.id}** still counts. Dismissing it takes two people, because "
            f"{explain_doubt(refused)}, and words are no first answer: two with the role {refused.needed} write "
            f"`/forge dismiss {finding.id} reason`."
        )
    return (
        f"Noted as a hint: **{finding.id}** still counts. Someone with write permission who did not open this pull "
        f"request can dismiss it with `/forge dismiss {finding.id} reason`."
    )
