"""What Forge answers in the thread of a finding to a person's words."""

from domain.review.findings import Finding
from domain.text.escaping import escape, inline_path
from messages.commands import explain_doubt
from safety.authorization import CommandRefusal, RefusalCode
from safety.gates import find_role_to_dismiss

_LONGEST = 1_200  # characters of what a model says


def render_answer(told: str) -> str:
    """The answer to a question."""
    return escape(told, _LONGEST)


def confirm_dismissal(receipt: str) -> str:
    """The receipt of a dismissal that was said in a person's own words."""
    return f"Read as a dismissal. {receipt}"


def judge_argument(finding: Finding, why: str, line: int | None, *, is_right: bool) -> str:
    """What the code says of a person's reason against a finding.

    :param why: in the model's words; :param line: of the finding's file, that decides it.
    """
    head = "You are right" if is_right else f"**{finding.id}** stands"
    place = "" if line is None else f" ({inline_path(f'{finding.path}:{line}')})"
    return f"{head}: {escape(why, _LONGEST).rstrip('.')}{place}."


def ask_for_command(finding: Finding, judged: str = "") -> str:
    """Somebody who may dismiss it disagrees with a finding that blocks: a model's reading of words lifts none.

    :param judged: what the code says of their reason; empty if nobody looked.
    """
    then = f"**{finding.id}** blocks, so only a command dismisses it: `/forge dismiss {finding.id} reason`."
    return f"{judged or 'Noted.'} {then}"


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


READ_AGAIN = "Each push is reviewed by itself. `/forge review full` has all of it read again, from scratch."
"""Somebody asks in words to have all of it looked at again."""


def confirm_hint(finding: Finding, refused: CommandRefusal | None = None, judged: str = "") -> str:
    """Somebody who may not dismiss it disagrees.

    :param refused: why they may not.
    :param judged: what the code says of their reason; empty if nobody looked.
    """
    noted = f"{judged} **{finding.id}** counts until" if judged else f"Noted as a hint: **{finding.id}** counts until"
    if refused is not None and refused.code is RefusalCode.second:
        return (
            f"{noted} it is dismissed. Dismissing it takes two people, because "
            f"{explain_doubt(refused)}, and words are no first answer: two with the role {refused.needed} write "
            f"`/forge dismiss {finding.id} reason`."
        )
    role = find_role_to_dismiss([finding])
    return (
        f"{noted} someone with the role {role} who did not open this pull request dismisses it with "
        f"`/forge dismiss {finding.id} reason`."
    )
