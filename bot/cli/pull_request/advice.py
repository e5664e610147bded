"""Says of GitHub's refusals what a person with a token can do: an operator's advice is about the App."""

from collections.abc import Generator
from contextlib import contextmanager

from bot.cli.pull_request.address import PullRequestAddress
from bot.cli.pull_request.token import NEEDS, FoundToken
from domain.errors import CodeAccessError, CommitGone, Forbidden, NotFound, RateLimited, Unauthorized, Unavailable
from workspace.git import TooLarge, Unrelated


@contextmanager
def advise(address: PullRequestAddress, token: FoundToken) -> Generator[None]:
    """Gives errors of GitHub and of git the advice for who runs this command.

    :raises CodeHostError: as it was, with other words.
    :raises CodeAccessError: as it was, with other words.
    """
    try:
        yield
    except Unauthorized:
        raise Unauthorized(
            f"{address.host} does not accept the token in {token.origin}: it is wrong, expired or was revoked.",
            "Make a new one in its settings under Developer settings, or run `gh auth login`.",
        ) from None
    except NotFound as error:
        raise NotFound(error.message, f"Check the address and that the token may see it: {NEEDS}.") from None
    except Forbidden as error:
        if is_locked(error):
            raise
        raise Forbidden(error.message, f"Check what the token in {token.origin} may do: {NEEDS}.") from None
    except RateLimited as error:
        raise RateLimited(f"{error.message} Run it again after {error.until:%H:%M} UTC.", error.until) from None
    except Unavailable as error:
        again = "Try again later; what was posted already is not posted twice."
        raise Unavailable(error.message, error.advice or again) from None
    except (CommitGone, TooLarge, Unrelated):
        raise
    except CodeAccessError as error:
        message = error.message.replace(", or the App lost access to it", "")
        raise CodeAccessError(message, _CODE.format(token.origin, NEEDS)) from None


_CODE = "Check that the token in {} may read the code, and the connection: {}."


def is_locked(error: Forbidden) -> bool:
    """Whether people may not comment there, whatever the token."""
    return "locked" in error.message.lower()


def explain_missing(address: PullRequestAddress, *, is_issue: bool) -> NotFound:
    """Why there is no pull request of this number in a repository that is there."""
    if is_issue:
        return NotFound(f"#{address.number} of {address.full_name} is an issue, not a pull request.")
    return NotFound(f"{address.full_name} has no pull request #{address.number}.")


def explain_repository(address: PullRequestAddress) -> NotFound:
    """Why there is no such repository; GitHub does not tell a private one from none."""
    return NotFound(
        f"{address.host} has no repository {address.full_name} that this token may see: it does not exist, or it is "
        "private."
    )
