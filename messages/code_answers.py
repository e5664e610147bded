"""Every text that answers `/forge ask`: a model's words, made inert, and where it looked; or why nobody is answered."""

import re
from collections.abc import Sequence

from domain.text.escaping import escape, inline_code, inline_path
from domain.verbs import Verb, find_role

_PARAGRAPHS, _LONGEST = 6, 1_200  # of an answer; characters of each
_QUOTED = 200  # characters of a question


def render_answer(words: str, places: Sequence[tuple[str, int]], head_sha: str, branch: str = "") -> str:
    """The answer to a question.

    :param words: of a model; nothing in them acts.
    :param places: paths and lines it looked at.
    :param branch: the branch whose head that is; empty for that of a pull request.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", words.strip()) if part.strip()][:_PARAGRAPHS]
    said = "\n\n".join(escape(part, _LONGEST) for part in paragraphs)
    looked = ", ".join(inline_path(f"{path}:{line}") for path, line in places)
    nothing = "Looked into no file" if branch else "Looked at the diff only"
    where = f"Looked at {looked}" if looked else nothing
    at = f"{inline_code(head_sha[:7])} of {inline_code(branch)}" if branch else inline_code(head_sha[:7])
    return f"{said}\n\n<sub>{where}, at {at}. A model answered from the code.</sub>"


def quote_question(words: str, answer: str) -> str:
    """An answer below an issue or pull request, where nothing else shows what it answers."""
    return f"> {escape(words, _QUOTED)}\n\n{answer}"


def report_unanswered(why: str, *, was_asked: bool = True) -> str:
    """Where no model gave an answer.

    :param was_asked: false where asking again changes nothing, such as at a limit; ``why`` says what does.
    """
    return f"No answer: {escape(why)}" + (" Ask again later, or more exactly." if was_asked else "")


CODE_KEPT = "No answer: `review.model: never` in `.github/forge.yml` keeps code from models."
"""Where the configuration keeps code from models."""
NO_CODE = "No answer: this repository has no commit yet, so there is no code to look at."
"""For a repository without a commit."""


def report_unread_head(verb: Verb, head_sha: str) -> str:
    """For a head that no run is about."""
    return (
        f"{inline_code(head_sha[:7])} has not been reviewed yet. Write `/forge review`, then "
        f"{inline_code(f'/forge {verb}')}."
    )


def refuse_without_ok(verb: Verb) -> str:
    """For the head of a fork that nobody with write permission allowed Forge to run."""
    role = find_role(Verb.review, on_fork=True)
    return (
        f"Nobody with the role {role} has allowed this head of a fork yet, so {inline_code(f'/forge {verb}')} does "
        "nothing here. Look at the change; `/forge review` allows this head."
    )


def report_lost_permission(verb: Verb) -> str:
    """For somebody who lost the role while the model worked."""
    return f"Nothing was done: who wrote {inline_code(f'/forge {verb}')} may not do that any more."


HEAD_MOVED = "Nothing was done: the pull request changed meanwhile. Ask again when its new head is reviewed."
"""For a head that was replaced while the model worked."""


def report_failure(verb: Verb, message: str) -> str:
    """For an error on the way."""
    return f"{inline_code(f'/forge {verb}')} failed: {escape(message)} Ask again later."
