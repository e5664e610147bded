"""The result of testing a head."""

from agents.testing import analysis
from domain.runs.coverage import CoverageComparison, Obstacle
from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierTests
from domain.runs.patches import RequiredFix
from domain.runs.testing import Analysis, FailureClass, SuiteVerdict, TestRun, decide_verdict
from domain.value import Value


class HeadTestResult(Value):
    """The result of testing one head; in journals and checkpoints.

    :param unexplained: why no model said what the failures mean, where one was to, and what to do.
    :param to_fix: failures that the implementer can fix.
    :param missing: tests that the change lacks.
    :param weakened: where the change gives up in disguise; tests of before that fail come first.
    :param earlier: what the tests of before say.
    :param compared: the coverage before and after; None if it was not compared.
    :param obstacle: why it was not, where one side has coverage.
    :param needs_person: whether the check asks for a person, because coverage was lost.
    """

    head: str
    run: TestRun
    analyses: tuple[Analysis, ...] = ()
    unexplained: str = ""
    to_fix: tuple[RequiredFix, ...] = ()
    missing: tuple[RequiredFix, ...] = ()
    weakened: tuple[RequiredFix, ...] = ()
    earlier: EarlierTests = NOTHING_EARLIER
    compared: CoverageComparison | None = None
    obstacle: Obstacle | None = None
    needs_person: bool = False

    @property
    def verdict(self) -> SuiteVerdict:
        return decide_verdict(self.run)

    @property
    def blames_environment(self) -> bool:
        """Whether everything that failed seems to have done so for what the place where it ran lacks."""
        failed = [each for each in self.analyses if each.failure_class is not FailureClass.flaky]
        is_lacking = (
            each.failure_class is FailureClass.environment and each.confidence >= analysis.LACKS_SOMETHING
            for each in failed
        )
        return bool(failed) and all(is_lacking)

    @property
    def failures(self) -> tuple[RequiredFix, ...]:
        """Every failure, also those that nobody knows how to fix."""
        cases = {case.id: case for case in analysis.list_failures(self.run)}
        return tuple(
            RequiredFix(
                path=(case.path or "") if (case := cases.get(each.test_id)) else "",
                line=case.line if case else None,
                rule=each.test_id,
                message=" ".join(filter(None, (each.root_cause, each.suggested_fix))),
            )
            for each in self.analyses
            if each.failure_class is not FailureClass.flaky
        )
