"""Finds tests that a change skips, expects to fail, or leaves out beside others."""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.review.avoidance.pairing import PlacedTest, subtract
from agents.review.avoidance.pairs import is_removal_asked
from agents.review.avoidance.test_change import TestChange
from domain.review.avoidance import Avoidance, AvoidanceKind


@dataclass(frozen=True)
class SkippedTests:
    """Which tests are there and do not count any more."""

    change: TestChange

    def find_skipped(self) -> Iterator[Avoidance]:
        for old, new in self.change.matches.pairs:
            if new.test.skip and new.test.skip != old.test.skip and not (old.test.skip and not old.test.is_conditional):
                doubt = 0.5 if new.test.is_conditional else 0.9
                yield self._describe_skip(new, "does not count any more", doubt)
        for file in self.change.files:
            for place in subtract(file.new.focused, file.old.focused, lambda place: place.text):
                yield Avoidance(
                    kind=AvoidanceKind.test_skipped,
                    path=file.path,
                    line=place.line,
                    what=f"Only this one runs, and the other tests do not: `{place.text[:80]}`.",
                    confidence=0.9,
                    name=place.text,
                )
        for new in self.change.matches.added:
            if new.test.skip and not new.test.is_conditional and "strict" not in new.test.skip:
                yield self._describe_skip(new, "is new and does not count", 0.6)

    def _describe_skip(self, new: PlacedTest, what: str, confidence: float) -> Avoidance:
        how = new.test.skip.replace("`", "'")[:80]
        return Avoidance(
            kind=AvoidanceKind.test_skipped,
            path=new.path,
            line=new.test.line,
            what=f"The test `{new.test.short_name}` {what}: `{how}`.",
            confidence=confidence,
            name=new.test.name,
            excuse="That was asked for." if is_removal_asked(self.change.asked, new.test.short_name) else "",
        )
