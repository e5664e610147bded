"""Finds comparisons whose sides newly pass through what makes different values equal, in tests and in their helpers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.facts import AssertionFact, FunctionFact, SideFact
from agents.review.avoidance.losses import CERTAINLY, DOUBTFULLY, NOT, judge_layer, may_lose
from agents.review.avoidance.pairing import pair_assertions
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.test_change import TestChange
from domain.review.avoidance import Avoidance, AvoidanceKind

_IS_EXPECTED = re.compile(r"(self \. |this \. |\$ )*_?(?i:expect|want|exp\b|golden|reference)\w*|[A-Z][A-Z\d_]*$")
_IS_LITERAL = re.compile(r"""[rbuf$@]{0,2}["'`]|[-+]?\d|[\[{(]""")
_BOTH = 2


@dataclass(frozen=True)
class _Blur:
    """What sides of a comparison newly pass through, and how sure it is that less is compared so."""

    layer: str
    confidence: float
    is_both: bool


@dataclass(frozen=True)
class BlurredComparisons:
    """The comparisons of a change that leave a difference out which they saw before."""

    change: TestChange

    def find_blurred(self) -> Iterator[Avoidance]:
        for old, new in self.change.matches.pairs:
            for after, blur in self._compare(old.test.assertions, new.test.assertions):
                yield _describe(new.path, after, blur, f"In `{new.test.short_name}`", new.test.name)
        for file in self.change.files:
            if file.is_test:
                yield from self._find_in_helpers(file)

    def _find_in_helpers(self, file: ChangedFacts) -> Iterator[Avoidance]:
        """Functions by which tests compare, and those through which what they compare passes."""
        old = {each.name: each for each in file.old.functions}
        for each in file.new.functions:
            before = old.get(each.name)
            if before is None or before.body == each.body:
                continue
            found = [*self._compare(before.checks, each.checks)]
            name = each.short_name
            for after, blur in found:
                yield _describe(file.path, after, blur, f"In `{name}`, by which tests check,", each.name)
            lost = self._find_lossy_words(each) - self._find_lossy_words(before)
            if lost and not found and name in self._ways:
                what = f"`{name}`, through which passes what tests compare, leaves out more: `{min(lost)}`."
                yield Avoidance(
                    kind=AvoidanceKind.assertion_weakened,
                    path=file.path,
                    line=each.line,
                    what=what,
                    confidence=0.75,
                    name=each.name,
                )

    def _compare(
        self, before: Sequence[AssertionFact], after: Sequence[AssertionFact]
    ) -> Iterator[tuple[AssertionFact, _Blur]]:
        """The assertions of one test that compare less than they did."""
        pairs, _, _ = pair_assertions(before, after)
        same = {each.text: each for each in before}
        unchanged = [(same[each.text], each) for each in after if each.text in same]
        for old, new in (*unchanged, *pairs):
            blur = self._judge(old, new)
            if blur is not None:
                yield new, blur

    def _judge(self, before: AssertionFact, after: AssertionFact) -> _Blur | None:
        if before.sides == after.sides or not after.strength:
            return None
        known = Counter(layer for side in before.sides for layer in side.through)
        gained = [_subtract(side, _find_partner(side, index, before.sides)) for index, side in enumerate(after.sides)]
        wrapped = [
            index
            for index, side in enumerate(after.sides)
            if gained[index] and _is_wrapped(side, _find_partner(side, index, before.sides))
        ]
        blurs = [
            _Blur(layer, self._weigh(layer, is_both=is_both), is_both)
            for index in wrapped
            for layer in gained[index]
            if not known[layer]
            for is_both in [sum(layer in each for each in gained) >= _BOTH]
            if is_both or _is_actual(index, before.sides, after.sides)
        ]
        return max((each for each in blurs if each.confidence), key=lambda each: each.confidence, default=None)

    def _weigh(self, layer: str, *, is_both: bool) -> float:
        name = layer.partition("(")[0]
        sure = judge_layer(layer)
        helper = self._new_functions.get(name)
        if sure or (helper is None and not is_both):
            return sure
        if helper is not None and (is_both or self._find_lossy_words(helper)):
            return CERTAINLY
        return DOUBTFULLY if is_both and may_lose(layer) else NOT

    def _find_lossy_words(self, function: FunctionFact) -> frozenset[str]:
        """What a function, or what it calls of the change, does that loses something."""
        called = [self._new_functions[word] for word in function.words if word in self._new_functions]
        words = function.words.union(*(each.words for each in called[:10]))
        return frozenset(word for word in words if judge_layer(word) >= CERTAINLY or _REPLACES_BLANKS.match(word))

    @cached_property
    def _new_functions(self) -> Mapping[str, FunctionFact]:
        """Functions that the change brings, by their last names."""
        known = {each.short_name for file in self.change.files for each in file.old.functions}
        return {
            each.short_name: each
            for file in self.change.files
            for each in file.new.functions
            if not each.is_class and each.short_name not in known
        }

    @cached_property
    def _ways(self) -> frozenset[str]:
        """The names of what the sides of comparisons pass through."""
        checks = (
            each
            for file in self.change.files
            for holder in (*(test.assertions for test in file.new.tests), *(one.checks for one in file.new.functions))
            for each in holder
        )
        return frozenset(layer.partition("(")[0] for each in checks for side in each.sides for layer in side.through)


_REPLACES_BLANKS = re.compile(r"""r?["'/](\[ ?(\\t)?\]|\\s|\\W|\[\^|\\x1b|\\033)""")


def _find_partner(side: SideFact, index: int, before: Sequence[SideFact]) -> SideFact | None:
    """The same side before: what has the same core, else what stood in its place."""
    same = [each for each in (*before[index : index + 1], *before) if each.core == side.core]
    if same:
        return same[0]
    return before[index] if index < len(before) and _says_alike(before[index].core, side.core) else None


def _says_alike(one: str, other: str) -> bool:
    """Whether two values differ only in what is often left out: blanks, case and signs."""
    bare = [re.sub(r"[\W_]", "", each).lower() for each in (one, other)]
    return bare[0] == bare[1]


def _subtract(side: SideFact, before: SideFact | None) -> list[str]:
    """What a side passes through and did not."""
    return [] if before is None else [*(Counter(side.through) - Counter(before.through))]


def _is_wrapped(side: SideFact, before: SideFact | None) -> bool:
    """Whether what is compared passes through something, and not what it is computed from."""
    count = 0 if before is None else len(before.through)
    return before is not None and (not count or side.through[-count:] == before.through)


def _is_actual(index: int, before: Sequence[SideFact], after: Sequence[SideFact]) -> bool:
    """Whether a side is what the program answers, and not what it is to answer."""
    side = after[index]
    others = [each for at, each in enumerate(after) if at != index]
    if _IS_EXPECTED.match(side.core) or _IS_LITERAL.match(side.core):
        return False
    is_plain = all(_IS_EXPECTED.match(each.core) or _IS_LITERAL.match(each.core) for each in others)
    partner = _find_partner(side, index, before)
    is_computed = bool(partner and partner.through) or "(" in side.core
    return is_plain or is_computed or not any(each.through or "(" in each.core for each in others)


def _describe(path: str, after: AssertionFact, blur: _Blur, begin: str, name: str) -> Avoidance:
    shown = blur.layer.replace("`", "'")[:50]
    sides = "both sides pass" if blur.is_both else "what is compared passes"
    return Avoidance(
        kind=AvoidanceKind.assertion_weakened,
        path=path,
        line=after.line,
        what=f"{begin} {sides} through `{shown}` now, so that fewer differences show.",
        confidence=blur.confidence,
        name=f"{name}: {after.text[:60]}",
    )
