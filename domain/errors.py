"""Everything that can go wrong, as one tree that decides what happens next.

ForgeError                     recovery
├── ConfigurationError         a setting is missing or wrong: say which, stop
├── DatabaseUnavailable        nothing could be stored: answer 503
├── UnknownName                an operator named what the database does not have
├── CodeHostError              GitHub was not asked, refused or failed
│   ├── RateLimited            wait until a known moment, durably
│   └── HostFailure            any other: do without, where that is possible
│       ├── LeftOut            an unimportant write while others go first: skip it
│       ├── Unavailable        5xx, time-out, reset: the effect may have happened
│       ├── Unauthorized       credentials are not accepted (any more)
│       ├── Forbidden          the App lacks a permission
│       ├── NotFound           gone, renamed away or never visible
│       ├── Behind             GitHub's API lags behind its own event
│       └── Unprocessable      GitHub validated the request and said no
├── CodeAccessError            git could not fetch the code
│   └── CommitGone             the commit does not exist (any more)
├── OutboundError              an address that a configuration names was not read
│   ├── OutboundRefused        it may not be asked: say which rule, and what the operator can set
│   └── OutboundFailed         it was asked, and did not answer as it should
├── ToolError                  a check failed; the others continue
├── Halted                     the operator stopped everything: wait durably until `forge resume`
└── Superseded                 a newer run owns the pull request: stop writing
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from domain.text.redaction import redact_outgoing

OWN_MISTAKE = "Forge made a mistake of its own; its log has the details."
HALTED = "The operator halted Forge; it continues after `forge resume`."


class Recovery(StrEnum):
    """How the pipeline recovers from an error."""

    retry = "retry"  # the same step again, with growing pauses
    wait = "wait"  # durably, until the moment the error names or its cause is gone
    fallback = "fallback"  # continue without this part and say so
    stop = "stop"  # end the run with a reason; a person decides


class ForgeError(Exception):
    """An error of the tree. It redacts its text at once, since journals, logs and comments repeat it.

    :param message: what happened and why, in one sentence for a person.
    :param advice: what that person can do about it.
    """

    recovery = Recovery.stop

    def __init__(self, message: str, advice: str = "") -> None:
        self.message, self.advice = redact_outgoing(message), redact_outgoing(advice)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


class ConfigurationError(ForgeError):
    """A setting of the operator is missing or wrong."""


class DatabaseUnavailable(ForgeError):
    """The database did not answer in time."""

    recovery = Recovery.retry


class UnknownName(ForgeError):
    """The database has nothing with the name that an operator gave."""


class CodeHostError(ForgeError):
    """GitHub refused a request or failed to answer it, or was not asked."""


class RateLimited(CodeHostError):
    """GitHub asked us to wait, or would if we wrote any faster.

    :param until: the moment, in UTC, before which no request may be made.
    """

    recovery = Recovery.wait

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class HostFailure(CodeHostError):
    """A request failed or was left out, and nothing says when it would succeed."""


class LeftOut(HostFailure):
    """Forge skipped an unimportant write because too many others go first."""

    recovery = Recovery.fallback


class Unavailable(HostFailure):
    """GitHub did not answer, or with 5xx. A write may still have taken effect."""

    recovery = Recovery.retry


class Unauthorized(HostFailure):
    """GitHub does not accept our credentials."""


class Forbidden(HostFailure):
    """The App lacks a permission, or the installation is suspended."""


class NotFound(HostFailure):
    """The object does not exist or is not visible to the App."""


class Behind(HostFailure):
    """GitHub's API does not show an event or our own write yet: it can lag by seconds."""

    recovery = Recovery.retry


class Unprocessable(HostFailure):
    """GitHub validated the request and refused it (422)."""

    recovery = Recovery.fallback


class CodeAccessError(ForgeError):
    """git could not fetch the code of a pull request."""

    recovery = Recovery.retry


class CommitGone(CodeAccessError):
    """The commit does not exist on the remote (any more)."""

    recovery = Recovery.stop


class OutboundError(ForgeError):
    """An address that a repository's configuration names was not read."""


class OutboundRefused(OutboundError):
    """Forge may not ask the address; nothing was sent there."""


class OutboundFailed(OutboundError):
    """The address was asked, and gave no whole answer."""

    recovery = Recovery.retry


class ToolError(ForgeError):
    """A check failed, took too long or printed nonsense."""

    recovery = Recovery.fallback


class Halted(ForgeError):
    """The operator halted Forge: it calls no model and writes nothing to GitHub."""

    recovery = Recovery.wait

    def __init__(self, message: str = HALTED, advice: str = "") -> None:
        super().__init__(message, advice)


class NotAllowed(ForgeError):
    """Someone may not do what they asked for (any more); the message is the answer."""


class Superseded(ForgeError):
    """A newer run took the pull request's fencing token."""


def to_json(error: ForgeError) -> dict[str, str]:
    """The error as JSON for a journal."""
    kept = {"error": type(error).__name__, "message": error.message, "advice": error.advice}
    return kept | {"until": error.until.isoformat()} if isinstance(error, RateLimited) else kept


def from_json(kept: Mapping[str, object]) -> ForgeError:
    """The error that :func:`to_json` kept."""
    message, until = str(kept["message"]), kept.get("until")
    if isinstance(until, str):
        return RateLimited(message, datetime.fromisoformat(until))
    return _BY_NAME.get(str(kept["error"]), ForgeError)(message, str(kept["advice"]))


def _family(parent: type[ForgeError]) -> Iterator[type[ForgeError]]:
    for child in parent.__subclasses__():
        yield child
        yield from _family(child)


_BY_NAME = {kind.__name__: kind for kind in _family(ForgeError)}
