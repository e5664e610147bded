"""Says why a patch is refused, so that its author can correct it."""

from collections.abc import Sequence

from domain.errors import ForgeError, Recovery
from domain.review.findings import Severity as Grade
from domain.runs.patches import Constraint, Violation
from workspace.diff import to_printable


class PatchRefused(ForgeError):
    """A patch was refused, and nothing of it was applied.

    :param violations: the reasons, at least one.
    """

    recovery = Recovery.fallback

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(str(each) for each in self.violations))


def show_path(path: str) -> str:
    """A path as violations name it."""
    return to_printable(path.encode("utf-8", "surrogatepass"))[:300]


def violation(file: str, constraint: Constraint, grade: Grade, message: str, suggestion: str) -> Violation:
    """A violation with a printable path."""
    shown = show_path(file)
    return Violation(file=shown, constraint=constraint, severity=grade, message=message, suggestion=suggestion)


def refusal(file: str, constraint: Constraint, message: str, suggestion: str) -> PatchRefused:
    """The refusal of a whole patch for one reason."""
    return PatchRefused([violation(file, constraint, Grade.error, message, suggestion)])
