"""Reads the result of a push from git's porcelain output."""

import re
from dataclasses import dataclass

from domain.errors import CodeAccessError

# The branch was not at the expected commit, as git saw before sending, or the remote when taking the lock.
_MOVED = re.compile(
    r"stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|incorrect old value"
    r"|reference already exists",
    re.IGNORECASE,
)
_NOTHING_HAPPENED = ("[rejected]", "[remote rejected]")
_TAKEN = {" ", "+", "*", "="}  # fast-forward, forced, new, already there (git-push(1), OUTPUT)


@dataclass(frozen=True, slots=True)
class Pushed:
    """The branch is at the commit, by this push or by an earlier one."""


@dataclass(frozen=True, slots=True)
class BranchMoved:
    """The branch is not at the expected commit: somebody pushed, or removed it. Nothing happened."""


@dataclass(frozen=True, slots=True)
class PushRejected:
    """The remote does not accept this push, e.g. because the branch is protected. Nothing happened.

    :param said: the remote's reason in its own words, one line.
    """

    said: str


PushOutcome = Pushed | BranchMoved | PushRejected


def parse_outcome(stdout: bytes, stderr: str) -> PushOutcome:
    """The result of pushing one reference.

    :raises CodeAccessError: git does not report it; the push may have happened.
    """
    lines = stdout.decode(errors="replace").splitlines()
    told = next((line.split("\t") for line in lines if line.count("\t") == 2), None)
    flag, _, summary = told or ("", "", "")
    if flag in _TAKEN:
        return Pushed()
    if not summary.startswith(_NOTHING_HAPPENED):  # "[remote failure]": the remote did not report
        raise CodeAccessError("git did not report the result of the push.")
    return BranchMoved() if _MOVED.search(summary) else PushRejected(_reason(stderr) or summary[:300])


def _reason(stderr: str) -> str:
    """What the remote printed, in one line."""
    said = [line.removeprefix("remote:").strip(" -") for line in stderr.splitlines() if line.startswith("remote:")]
    return " ".join(line for line in said if line)[:500]
