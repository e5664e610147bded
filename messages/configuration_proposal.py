"""Every text about a pull request that changes the configuration because a person asked for it on the dashboard."""

from collections.abc import Sequence

from domain.text.escaping import inline_code
from messages.config import PATH, ValueChange, render_valid

TITLE = "Change the configuration of Forge"


def render_body(login: str, changed: Sequence[ValueChange]) -> str:
    """The description of the pull request: who asked, and what it changes."""
    who = f"{inline_code(login)} asked for this on the dashboard. Whoever may merge here decides about it."
    return f"{who}\n\n{render_valid(changed, removed=False).summary}"


def render_commit_message(login: str) -> str:
    """The message of its commit."""
    plain = "".join(letter for letter in login if letter.isascii() and (letter.isalnum() or letter in "-_"))
    return f"Change the configuration of Forge\n\n{PATH} as {plain} asked for it on the dashboard.\n"


def explain_changed_meanwhile() -> str:
    """For a form that was made from another version of the file."""
    return (
        f"`{PATH}` was changed on the default branch since this form was opened, so nothing was sent. What you entered "
        "is still here; compare it with the file as it is now, and send it again."
    )


def explain_secret() -> str:
    """For a text that looks as if it held a credential."""
    return (
        "What you entered looks as if it held a password or a key, so nothing was sent. The file is read by everybody "
        "who reads the repository: name the secret there, and keep it elsewhere."
    )


def explain_pause(pauser: str) -> str:
    """For a repository in which a person paused Forge."""
    return f"{pauser} paused Forge here, so it opens no pull request. An administrator writes /forge unpause first."


def explain_interruption() -> str:
    """For a form that was sent before, and of which GitHub may not show yet what came of it."""
    return (
        "Forge was interrupted while it made this pull request, and GitHub may not show yet how far it came. Send the "
        "form again in a minute: it makes one pull request, not two."
    )


def explain_halt() -> str:
    """For a Forge that the operator stopped."""
    return (
        "No pull request was made: the operator halted Forge. What you entered is still here; send it again once Forge "
        "goes on."
    )


def explain_obstacle(why: str) -> str:
    """For a repository in which Forge may open no pull request.

    :param why: a clause.
    """
    return f"No pull request was made: {why}. Copy the text below, and change the file yourself."
