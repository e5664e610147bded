"""Finds assertions that are gone from a test, or demand less than before."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.review.avoidance.facts import AssertionFact, Strength, TestFact
from agents.review.avoidance.pairing import PlacedTest, pair_assertions, share
from agents.review.avoidance.pairs import is_removal_asked
from agents.review.avoidance.rewritten_assertions import find_heir
from agents.review.avoidance.test_change import (
    ALIKE,
    TAKEN_OVER,
    TestChange,
    describe_expectation,
)
from agents.review.avoidance.truths import keeps_truth
from domain.review.avoidance import CERTAIN, MANY_ASSERTIONS, Avoidance, AvoidanceKind

_MOST_SWAPPED = 2
"""Words of an assertion that another value in the same place may differ by."""
_WRAPPERS = re.compile(r"\b(?:bool|Boolean|len|length|typeof|type|callable|isinstance|instanceof|any)\b|!!")
_IS_THERE = re.compile(r"!=\s*(?:nil|null)\b|is not None|!==?\s*undefined|hasattr|\bis_(?:some|ok|err)\b")
_VALUE_AND_TOLERANCE = 2
_PARTLY = re.compile(
    r"(has|is)?_?(contains?|includes?|starts_?with|ends_?with|match|search|index_?of|prefix|suffix|strings)$",
    re.IGNORECASE,
)
"""Names by which an assertion asks about a part only, which the whole needs no more."""


@dataclass(frozen=True)
class _Loss:
    """What became of assertions, in words, and how sure that is."""

    kind: AvoidanceKind
    what: str
    confidence: float


@dataclass(frozen=True)
class WeakenedAssertions:
    """What the tests that stay demand no longer."""

    change: TestChange

    def find_weakened(self) -> Iterator[Avoidance]:
        for old, new in self.change.matches.pairs:
            if old.test.signature != new.test.signature or old.test.assertions != new.test.assertions:
                yield from self._compare_assertions(old, new)

    def find_weakened_helpers(self) -> Iterator[Avoidance]:
        """Functions that tests call to check something, and that check less than before."""
        called = {name for _, new in self.change.matches.pairs for name in new.test.calls}
        for file in self.change.files:
            old = {each.name: each for each in file.old.functions}
            gained = sum(each.demand for each in file.new.functions if each.name not in old)
            for each in file.new.functions if file.is_test else ():
                before, last = old.get(each.name), each.short_name
                if before is None or last not in called or each.demand + gained >= before.demand:
                    continue
                is_gone = each.assertions < before.assertions
                yield Avoidance(
                    kind=AvoidanceKind.assertion_removed if is_gone else AvoidanceKind.assertion_weakened,
                    path=file.path,
                    line=each.line,
                    what=f"`{last}`, by which tests check, demands less than before.",
                    confidence=0.75 if is_gone else 0.65,
                    name=each.name,
                )

    def _compare_assertions(self, old: PlacedTest, new: PlacedTest) -> Iterator[Avoidance]:
        pairs, lost, gained = pair_assertions(old.test.assertions, new.test.assertions)
        for before, after in pairs:
            is_delegated = self._calls_helper(after) and not self._calls_helper(before)
            is_kept = is_delegated or find_heir(before, old.test, new.test) is not None
            found = None if is_kept else self._judge_pair(new, before, after)
            if found is not None:
                yield found
        helped = self.change.count_helped(old.test, new.test)
        lost = [each for each in lost if each.strength > Strength.vacuous and not self._is_checked_elsewhere(each)]
        heirs = [heir for each in lost if (heir := find_heir(each, old.test, new.test)) is not None]
        lost = [each for each in lost if find_heir(each, old.test, new.test) is None]
        gained = [each for each in gained if each not in heirs]
        if len(lost) <= helped or (helped and _keeps_values(lost, new.test)):
            return
        yield from self._describe_loss(new, lost, len(gained), self._explain(lost, gained, pairs, old, new))

    def _explain(
        self,
        lost: Sequence[AssertionFact],
        gained: Sequence[AssertionFact],
        pairs: Sequence[tuple[AssertionFact, AssertionFact]],
        old: PlacedTest,
        new: PlacedTest,
    ) -> _Loss:
        """What became of assertions that have no partner any more."""
        weaker, gone = AvoidanceKind.assertion_weakened, AvoidanceKind.assertion_removed
        strongest = max((each.strength for each in gained), default=Strength.vacuous)
        weakest = min((each.strength for each in gained), default=Strength.vacuous)
        if gained and min(each.guards for each in gained) > max(each.guards for each in lost):
            return _Loss(weaker, "stands behind a condition or handler now", 0.75)
        if gained and weakest is Strength.vacuous:
            return _Loss(weaker, "checks nothing any more", 0.9)
        if len(gained) >= len(lost) and strongest < lost[0].strength:
            return _Loss(weaker, "gave way to one that demands less", 0.8)
        if gained and weakest > max(each.strength for each in lost):
            return _Loss(gone, "gave way to a stricter one", 0.5)
        if len(gained) >= len(lost) or self._is_covered(lost, gained, pairs, old, new):
            return _Loss(gone, "is replaced by another one", 0.5)
        return _Loss(gone, "is gone", 0.85)

    def _describe_loss(
        self, new: PlacedTest, lost: Sequence[AssertionFact], gained: int, loss: _Loss
    ) -> Iterator[Avoidance]:
        """One detection for each assertion, up to those that a person is asked about together."""
        name = new.test.short_name
        if not any(each.strength for each in new.test.assertions):
            yield Avoidance(
                kind=AvoidanceKind.test_removed,
                path=new.path,
                line=new.test.line,
                what=f"The test `{name}` checks nothing any more.",
                confidence=0.85,
                name=new.test.name,
            )
        shown = lost[: max(1, len(lost) - gained)] if loss.confidence >= CERTAIN else lost[:1]
        for each in shown[: MANY_ASSERTIONS + 1]:
            is_asked = is_removal_asked(self.change.asked, *({*each.words} & self.change.former_functions))
            yield Avoidance(
                kind=loss.kind,
                path=new.path,
                line=new.test.line,
                what=f"In `{name}` an assertion {loss.what}: `{each.text[:80]}`.",
                confidence=loss.confidence,
                name=f"{new.test.name}: {each.text[:60]}",
                excuse="Its removal was asked for." if is_asked else "",
            )

    def _calls_helper(self, assertion: AssertionFact) -> bool:
        """Whether an assertion is a call of a function of these tests that checks something itself."""
        called = re.match(r"(?:(?:self|this|\$ this|t) (?:\.|->) )?([A-Za-z_]\w*) [(!]", assertion.text)
        return called is not None and called[1] in self.change.assertion_helpers

    def _is_covered(
        self,
        lost: Sequence[AssertionFact],
        gained: Sequence[AssertionFact],
        pairs: Sequence[tuple[AssertionFact, AssertionFact]],
        old: PlacedTest,
        new: PlacedTest,
    ) -> bool:
        """Whether an assertion that is stricter, or in a loop over new values, stands for those that are gone."""
        names = {word for each in lost for word in each.words} - {word for each in lost for word in each.literals}
        names = {name for name in names if not _PARTLY.match(name)}
        has_values = len(new.test.rows) > len(old.test.rows) or len(new.test.words - old.test.words) > 1
        stricter = [after for before, after in pairs if after.strength > before.strength]
        rewritten = [after for before, after in pairs if after.text != before.text] if has_values else []
        changed = [after for before, after in pairs if after.text != before.text]
        return _are_joined(lost, (*gained, *changed)) or any(
            names and len(names & {*each.words}) / len(names) >= TAKEN_OVER for each in (*gained, *stricter, *rewritten)
        )

    def _is_checked_elsewhere(self, gone: AssertionFact) -> bool:
        """Whether a test gained this assertion, or one on the same subject and values."""
        own = frozenset(gone.words)
        return any(
            each.text == gone.text
            or (
                (each.strength >= gone.strength or keeps_truth(gone, each))
                and share(own, frozenset(each.words)) >= ALIKE
            )
            for each in self.change.new_assertions
            if each.words
        )

    def _judge_pair(self, new: PlacedTest, before: AssertionFact, after: AssertionFact) -> Avoidance | None:
        name = new.test.short_name
        if after.guards > before.guards and after.strength <= before.strength:
            return self._weaker(new, after, f"In `{name}` an assertion stands behind a condition or handler now", 0.8)
        if after.strength < before.strength and not keeps_truth(before, after):
            return self._weaker(
                new,
                after,
                f"In `{name}` an assertion demands less: `{before.text[:60]}` became `{after.text[:60]}`",
                0.85,
            )
        if before.kind == "near" and after.kind == "near":
            return self._judge_tolerance(new, before, after)
        old_values, new_values = Counter(before.literals), Counter(after.literals)
        lost, gained = old_values - new_values, new_values - old_values
        if (
            before.kind == after.kind == "equal"
            and (wider := _compare_last(before.literals, after.literals)) is not None
        ):
            return self._weaker(new, after, f"In `{name}` the tolerance grew from {wider[0]:g} to {wider[1]:g}", 0.8)
        if before.kind == after.kind == "equal" and _is_closer(before.literals, after.literals):
            return None
        if before.kind == after.kind and before.strength == after.strength and lost and gained:
            return describe_expectation(
                self.change, new.path, after.line, new.test.name, before.text, after.text, [*gained]
            )
        if before.kind == after.kind == "raises" and lost and not gained and len(after.words) < len(before.words):
            return self._weaker(new, after, f"In `{name}` any message of the error will do", 0.7)
        if before.kind == after.kind == "raises" and not {*before.words} <= {*after.words}:
            return describe_expectation(
                self.change, new.path, after.line, new.test.name, before.text, after.text, [*after.words]
            )
        if before.text != after.text and _strip_negation(before.text) == _strip_negation(after.text):
            return describe_expectation(self.change, new.path, after.line, new.test.name, before.text, after.text, [])
        return self._judge_words(new, before, after)

    def _judge_words(self, new: PlacedTest, before: AssertionFact, after: AssertionFact) -> Avoidance | None:
        """Of two assertions as strong as each other: whether one asks about less, or for something else."""
        name = new.test.short_name
        wrapped = [each for each in _WRAPPERS.findall(after.text) if each not in _WRAPPERS.findall(before.text)]
        is_any = _IS_THERE.search(after.text) and not _IS_THERE.search(before.text)
        if before.strength > Strength.weak and (wrapped or is_any):
            return self._weaker(
                new,
                after,
                f"In `{name}` an assertion asks about less: `{before.text[:60]}` became `{after.text[:60]}`",
                0.75,
            )
        gone, come = Counter(before.words) - Counter(after.words), Counter(after.words) - Counter(before.words)
        values = [word for word in gone if word in before.literals and word not in new.test.words]
        if values and come and not {*come} & {*after.literals} and before.kind == after.kind == "equal":
            what = f"In `{name}` an assertion expects what is computed, and no more `{values[0][:60]}`"
            return self._weaker(new, after, what, 0.6)
        if after.strength is Strength.partial and gone.total() > max(1, come.total()):
            what = f"In `{name}` an assertion asks about less: `{before.text[:60]}` became `{after.text[:60]}`"
            return self._weaker(new, after, what, 0.55)
        is_swap = 0 < gone.total() <= _MOST_SWAPPED and 0 < come.total() <= _MOST_SWAPPED
        is_other = not gone and not come and before.text != after.text and _first_word(before) == _first_word(after)
        if (
            (is_swap or is_other)
            and before.kind == after.kind == "equal"
            and not self._are_renamed(new.path, gone, come)
        ):
            found = describe_expectation(
                self.change, new.path, after.line, new.test.name, before.text, after.text, [*come]
            )
            return found.model_copy(update={"confidence": 0.5})
        return None

    def _are_renamed(self, path: str, gone: Counter[str], come: Counter[str]) -> bool:
        """Whether a name changed everywhere, so that the assertion is the same in new words."""
        there = {
            word for file in self.change.files if file.path == path for test in file.new.tests for word in test.words
        }
        known = {
            word for file in self.change.files if file.path == path for test in file.old.tests for word in test.words
        }
        return bool(gone or come) and (not ({*gone} & there) or not ({*come} & known))

    def _judge_tolerance(self, new: PlacedTest, before: AssertionFact, after: AssertionFact) -> Avoidance | None:
        old = [value for each in before.literals if (value := _read_number(each)) is not None]
        now = [value for each in after.literals if (value := _read_number(each)) is not None]
        if not old or not now or old[-1] == now[-1]:
            if len(now) > len(old) and before.words != after.words:
                return self._weaker(new, after, f"In `{new.test.short_name}` an assertion has a tolerance now", 0.6)
            return None
        counts_digits = (
            re.search(r"places|decimal|CloseTo|AlmostEqual|precision|digits", after.text) and "delta" not in after.text
        )
        is_wider = now[-1] < old[-1] if counts_digits and float(now[-1]).is_integer() else now[-1] > old[-1]
        if is_wider:
            return self._weaker(
                new,
                after,
                f"In `{new.test.short_name}` the tolerance grew: `{before.text[:60]}` became `{after.text[:60]}`",
                0.85,
            )
        return None

    def _weaker(self, new: PlacedTest, after: AssertionFact, what: str, confidence: float) -> Avoidance:
        return Avoidance(
            kind=AvoidanceKind.assertion_weakened,
            path=new.path,
            line=after.line,
            what=f"{what}.",
            confidence=confidence,
            name=new.test.name,
        )


def _first_word(assertion: AssertionFact) -> str:
    """By which the framework of an assertion is known."""
    return assertion.text.partition(" ")[0]


def _keeps_values(lost: Sequence[AssertionFact], new: TestFact) -> bool:
    """Whether a test still holds most of the values that its assertions compared, for a helper that goes over them."""
    told = {word for each in lost for word in each.literals}
    return bool(told) and len(told & new.words) / len(told) >= TAKEN_OVER


def _are_joined(lost: Sequence[AssertionFact], others: Sequence[AssertionFact]) -> bool:
    """Whether one text that is compared as a whole consists of those that are gone, such as a command's output."""
    texts = [_read_text(each) for assertion in lost for each in assertion.literals]
    told = [each for each in texts if each and not each.isdigit() and not each.startswith("{")]
    wholes = [_read_text(each) for other in others if other.strength is Strength.exact for each in other.literals]
    return bool(told) and any(
        all(each in whole for each in told) and len(whole) / 2 <= sum(map(len, told)) < len(whole) for whole in wholes
    )


def _read_text(literal: str) -> str:
    return literal.strip("$\"'`").replace("\\n", "\n")


def _compare_last(before: Sequence[str], after: Sequence[str]) -> tuple[float, float] | None:
    """The tolerances of two assertions that differ in nothing else, if the second is wider."""
    if len(before) != len(after) or len(before) < _VALUE_AND_TOLERANCE or [*before[:-1]] != [*after[:-1]]:
        return None
    old, new = _read_number(before[-1]), _read_number(after[-1])
    return (old, new) if old is not None and new is not None and 0 < old < 1 and old < new else None


def _is_closer(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a value with a tolerance was written more exactly."""
    old, new = [_read_number(each) for each in before], [_read_number(each) for each in after]
    if len(old) != len(new) or len(old) < _VALUE_AND_TOLERANCE:
        return False
    first, second, wide, narrow = old[0], new[0], old[-1], new[-1]
    if first is None or second is None or wide is None or narrow is None:
        return False
    return 0 < narrow <= wide < 1 and abs(first - second) <= wide


def _read_number(text: str) -> float | None:
    try:
        return float(text.strip("\"'").rstrip("fFdDmMlL"))
    except ValueError:
        return None


def _strip_negation(text: str) -> str:
    return re.sub(r"\bnot\b|\. not\b|! |Not|False|True|\bfalse\b|\btrue\b|_not_|refute|!", "", text).replace("  ", " ")
