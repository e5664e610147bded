"""The texts of one review that no server follows up: in a pull request, in a job's summary, on a terminal."""

import re
from collections.abc import Sequence
from enum import StrEnum

from domain.errors import ForgeError
from domain.review.findings import Finding
from domain.review.review import Review
from domain.text.escaping import escape
from messages.review import (
    CheckText,
    name_outcome,
    render_bullet,
    render_change,
    render_outcome,
    render_reasons,
    tell_risk,
)

SHOWN_IN_BODY = 40
"""Findings that the body of a review lists."""
ALONE = (
    "Forge reviewed this once and keeps nothing: no gate, no memory, and no answer to `/forge` commands. "
    "To hear of a later push, run it again."
)
NOT_WANTED = "No review was posted, because the workflow says `post: false`."
NO_CHECK = "Only an App can make a check, so with this token there is a review and no check."
_NAMED = re.compile(r"^(?:<sub>|- `.*` )(F-[A-Z2-7]{6})\b", re.MULTILINE)


def render_single_body(review: Review, listed: Sequence[Finding], posted_before: int, marker: str, note: str) -> str:
    """The body of the review.

    :param listed: the findings without a comment of their own.
    :param posted_before: how many findings have a comment from an earlier review by the same account.
    :param note: what people should know about this review, in sentences; may be empty.
    """
    rows = [render_bullet(finding) for finding in listed[:SHOWN_IN_BODY]]
    left = len(listed) - len(rows)
    parts = [
        " ".join(filter(None, (f"**{name_outcome(review)}.**", tell_risk(review), note))),
        render_change(review),
        render_reasons(review.reasons),
        "\n".join([*rows, *([f"- and {left} more; `forge review --pr` lists them all"] if left > 0 else [])]),
        f"{posted_before} of the findings already had a comment, not repeated." if posted_before else "",
        f"<sub>{ALONE}</sub>",
        marker,
    ]
    return "\n\n".join(part for part in parts if part)


def render_summary(review: Review, posted: Sequence[Finding], problem: str | None, note: str) -> str:
    """The summary of a job, in Markdown.

    :param posted: the findings with a comment in the pull request.
    :param problem: what is wrong with the configuration.
    :param note: where the review went, and why not elsewhere, in sentences.
    """
    shown = render_outcome(review, posted, 0, problem, has_server=False)
    return join_summary(shown, note)


def join_summary(shown: CheckText, note: str) -> str:
    """A summary under its title, with what else people should know.

    :param note: in sentences; may be empty.
    """
    parts = [f"## Forge: {shown.title}", note, shown.summary, shown.text, f"<sub>{ALONE}</sub>"]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_failure(error: ForgeError) -> str:
    """The summary of a job that could not review."""
    return f"## Forge could not review this\n\n{escape(str(error))}\n"


class WhyRefused(StrEnum):
    """Why GitHub took no review from a job."""

    fork = "GitHub gives the workflows of a pull request from a fork a token that only reads."
    permission = "the job's token may not post one; `permissions: {pull-requests: write}` lets it."
    other = ""


def explain_unposted_job(error: ForgeError, why: WhyRefused) -> str:
    """Why a job posted no review, and where its findings are instead, in sentences."""
    return f"No review was posted: {why.value or error} The findings are annotations and in this summary."


def list_named(bodies: Sequence[str]) -> set[str]:
    """The names of the findings that comments of an earlier review are about."""
    return {name for body in bodies for name in _NAMED.findall(body)}
