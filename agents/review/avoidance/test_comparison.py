"""Compares the tests of a change: which are gone, skipped, or demand less than before."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from agents.review.avoidance.facts import AssertionFact, FunctionFact, Strength
from agents.review.avoidance.pairing import PairedTests, PlacedTest, pair_assertions, pair_tests, subtract
from agents.review.avoidance.pairs import ChangedFacts, is_mentioned, is_removal_asked
from agents.review.avoidance.test_inventory import split_row
from domain.paths import holds_tests, is_source
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.findings import Severity

_MERGED = 0.75
"""The share of the literals of a test that others must have taken over."""
_ALIKE = 0.6
_SHORTEST = 2
_TELLING = 5  # characters of a literal, quotes included
_MOST_COMPARED = 100
"""Cases, or tests that changed, with which one is compared; a change of more is looked at less closely."""
_ROW_ALIKE = 0.5
_MOST_SWAPPED = 2
"""Words of an assertion that another value in the same place may differ by."""


def compare_tests(files: Sequence[ChangedFacts], asked: str) -> list[Avoidance]:
    """What the tests of a change check no longer."""
    change = _Tests(files, asked)
    return [
        *change.find_removed(),
        *change.find_uncollected(),
        *change.find_skipped(),
        *change.find_rows(),
        *change.find_weakened(),
    ]


@dataclass(frozen=True)
class _Tests:
    files: Sequence[ChangedFacts]
    asked: str

    @cached_property
    def matches(self) -> PairedTests:
        before = [PlacedTest(file.path, test) for file in self.files for test in file.old.tests]
        after = [PlacedTest(file.path, test) for file in self.files for test in file.new.tests]
        return pair_tests(before, after)

    @cached_property
    def new_words(self) -> Counter[str]:
        """The names and literals that the tests of the change did not hold before."""
        gained = Counter[str]()
        for each in self.matches.added:
            gained.update(each.test.words)
            gained.update(word for row in each.test.rows for word in split_row(row))
        for old, new in self.matches.pairs:
            gained.update(new.test.words - old.test.words)
            gained.update(word for row in subtract(new.test.rows, old.test.rows, str) for word in split_row(row))
        for file in self.files:
            gained.update(word for row in subtract(file.new.rows, file.old.rows, str) for word in split_row(row))
        return gained

    @cached_property
    def former_functions(self) -> frozenset[str]:
        """The last names of functions of the program that the change takes away."""
        before = {each.name for file in self.files if not file.is_test for each in file.old.functions}
        after = {each.name for file in self.files if not file.is_test for each in file.new.functions}
        return frozenset(name.rpartition(".")[2] for name in before - after)

    @cached_property
    def changes_program(self) -> bool:
        return any(not file.is_test and is_source(file.path) for file in self.files)

    @cached_property
    def new_helpers(self) -> dict[str, FunctionFact]:
        """Functions of the test files that check something and did not before, by their last names."""
        found: dict[str, FunctionFact] = {}
        for file in self.files:
            known = {each.name: each.assertions for each in file.old.functions}
            for each in file.new.functions:
                if file.is_test and each.assertions > known.get(each.name, 0):
                    found[each.name.rpartition(".")[2]] = each
        return found

    @cached_property
    def survivors(self) -> frozenset[tuple[int, int]]:
        return frozenset((new.test.signature, len(new.test.assertions)) for _, new in self.matches.pairs)

    def find_removed(self) -> Iterator[Avoidance]:
        uncollected = {id(each) for each, _, _ in self._strays}
        for file in self.files:
            mine = [each for each in self.matches.removed if each.path == file.path and id(each) not in uncollected]
            if file.is_gone and len(mine) > 1:
                excuses = [self._excuse(each) for each in mine]
                left = [each for each, excuse in zip(mine, excuses, strict=True) if not excuse]
                names = ", ".join(f"`{each.test.short_name}`" for each in (left or mine)[:3])
                yield Avoidance(
                    kind=AvoidanceKind.test_removed,
                    path=file.path,
                    what=f"The file is deleted with {len(left or mine)} tests in it: {names}.",
                    confidence=0.9,
                    severity=Severity.warning,
                    count=len(left or mine),
                    name=file.path,
                    excuse="" if left else excuses[0],
                )
                continue
            for each in mine:
                yield Avoidance(
                    kind=AvoidanceKind.test_removed,
                    path=file.path,
                    line=self._find_line(file, each),
                    what=f"The test `{each.test.short_name}` is gone.",
                    confidence=0.9,
                    severity=Severity.warning,
                    name=each.test.name,
                    excuse=self._excuse(each),
                )

    def _find_line(self, file: ChangedFacts, gone: PlacedTest) -> int | None:
        """The test that follows now where this one was."""
        if file.is_gone:
            return None
        after = [
            old.test.line for old, new in self.matches.pairs if new.path == file.path and old.test.line > gone.test.line
        ]
        following = min(after, default=None)
        place = next(
            (new.test.line for old, new in self.matches.pairs if old.test.line == following and new.path == file.path),
            None,
        )
        return place or next((new.test.line for _, new in self.matches.pairs if new.path == file.path), None)

    def _excuse(self, gone: PlacedTest) -> str:
        test = gone.test
        if (test.signature, len(test.assertions)) in self.survivors or self._has_twin(gone):
            return "An equal test stays."
        if not test.assertions and not test.rows and len(test.words) < 3:
            return "It checked nothing."
        told = {word for each in test.assertions for word in each.literals} or {
            word for each in test.assertions for word in each.words
        }
        told |= {word for row in test.rows for word in split_row(row) if len(word) > _SHORTEST}
        telling = {word for word in told if len(word.strip("\"'`")) > 0}
        taken = [word for word in telling if self.new_words[word] > 0 or self._is_in_text(word)]
        if telling and len(taken) / len(telling) >= _MERGED and self._shares_names(test.words):
            return "Other tests check the same now."
        if self._is_merged(gone):
            return "Another test checks the same now."
        if is_removal_asked(self.asked, test.short_name, *(test.words & self.former_functions)):
            return "Its removal was asked for."
        return ""

    @cached_property
    def _row_words(self) -> dict[str, set[str]]:
        """The words of new cases in tables outside of tests, by file."""
        return {
            file.path: {word for row in subtract(file.new.rows, file.old.rows, str) for word in split_row(row)}
            for file in self.files
        }

    @cached_property
    def _changed(self) -> list[tuple[PlacedTest, PlacedTest]]:
        return [(old, new) for old, new in self.matches.pairs if old.test.signature != new.test.signature]

    def _has_twin(self, gone: PlacedTest) -> bool:
        """Whether another test of the same name in the same file asserts the same."""
        words = {word for each in gone.test.assertions for word in each.words}
        return any(
            new.path == gone.path
            and new.test.name == gone.test.name
            and _share(frozenset(words), frozenset(word for each in new.test.assertions for word in each.words))
            >= _ALIKE
            for _, new in self.matches.pairs
        )

    def _is_merged(self, gone: PlacedTest) -> bool:
        """Whether a test that changed holds what only this one held before."""
        words = gone.test.words
        near = [(old, new) for old, new in self._changed if new.path == gone.path]
        others = [*near, *((None, each) for each in self.matches.added), *self._changed]
        for before, after in others[:_MOST_COMPARED]:
            own = words - (before.test.words if before else frozenset[str]())
            there = {*after.test.words, *(word for row in after.test.rows for word in split_row(row))}
            there |= self._row_words.get(after.path, set())
            has_grown = before is not None and (
                len(after.test.assertions) > len(before.test.assertions) or len(after.test.rows) > len(before.test.rows)
            )
            if own and len(own & there) / len(own) >= _MERGED and len(words & there) / len(words) >= _MERGED:
                return True
            if not own and words and has_grown:
                return True
        return False

    def _is_in_text(self, word: str) -> bool:
        bare = word.strip("\"'`")
        return len(bare) > 2 and any(bare in gained for gained in self.new_words)

    def _shares_names(self, words: frozenset[str]) -> bool:
        names = {word for word in words if re.match(r"^[A-Za-z_]\w{2,}$", word)}
        return not names or any(self.new_words[name] > 0 for name in names) or self._is_in_rows(names)

    def _is_in_rows(self, names: set[str]) -> bool:
        return any(names & new.test.words and new.test.rows != old.test.rows for old, new in self.matches.pairs)

    @cached_property
    def _strays(self) -> list[tuple[PlacedTest, ChangedFacts, FunctionFact]]:
        found: list[tuple[PlacedTest, ChangedFacts, FunctionFact]] = []
        called = frozenset[str]().union(
            *(new.test.words for _, new in self.matches.pairs), *(e.test.words for e in self.matches.added)
        )
        for each in self.matches.removed:
            for file in self.files:
                if file.path != each.path:
                    continue
                known = {function.name for function in file.old.functions}
                twin = next(
                    (
                        function
                        for function in file.new.functions
                        if function.name not in known
                        and function.name.rpartition(".")[2] not in called
                        and _share(function.words, each.test.words) >= _ALIKE
                        and function.assertions
                    ),
                    None,
                )
                if twin is not None:
                    found.append((each, file, twin))
        return found

    def find_uncollected(self) -> Iterator[Avoidance]:
        for file in self.files:
            was_found = file.old.is_test and holds_tests(file.before_path or file.path)
            if not file.is_gone and file.old.tests and was_found and not holds_tests(file.path):
                yield Avoidance(
                    kind=AvoidanceKind.test_deselected,
                    path=file.path,
                    what=f"`{file.before_path}` lies here now, under a name that no runner looks for.",
                    confidence=0.9,
                    count=len(file.old.tests),
                    name=file.path,
                )
        for each, file, twin in self._strays:
            name = each.test.short_name
            what = f"The test `{name}` is called `{twin.name.rpartition('.')[2]}` now, so no runner finds it."
            yield Avoidance(
                kind=AvoidanceKind.test_deselected,
                path=file.path,
                line=twin.line,
                what=what,
                confidence=0.9,
                severity=Severity.warning,
                name=each.test.name,
            )

    def find_skipped(self) -> Iterator[Avoidance]:
        for old, new in self.matches.pairs:
            if new.test.skip and new.test.skip != old.test.skip and not (old.test.skip and not old.test.is_conditional):
                doubt = 0.5 if new.test.is_conditional else 0.9
                yield self._describe_skip(new, "does not count any more", doubt)
        for file in self.files:
            for place in subtract(file.new.focused, file.old.focused, lambda place: place.text):
                yield Avoidance(
                    kind=AvoidanceKind.test_skipped,
                    path=file.path,
                    line=place.line,
                    what=f"Only this one runs, and the other tests do not: `{place.text[:80]}`.",
                    confidence=0.9,
                    name=place.text,
                )
        for new in self.matches.added:
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
            severity=Severity.warning,
            name=new.test.name,
            excuse="That was asked for." if is_removal_asked(self.asked, new.test.short_name) else "",
        )

    def find_rows(self) -> Iterator[Avoidance]:
        """Cases of tables that are gone or expect something else."""
        gained = [row for old, new in self.matches.pairs for row in subtract(new.test.rows, old.test.rows, str)]
        gained += [row for each in self.matches.added for row in each.test.rows]
        gained += [row for file in self.files for row in subtract(file.new.rows, file.old.rows, str)]
        for old, new in self.matches.pairs:
            yield from self._compare_rows(new.path, new.test.line, new.test.name, old.test.rows, new.test.rows, gained)
        for file in self.files:
            if (file.is_test or file.new.tests) and not file.is_gone:
                yield from self._compare_rows(file.path, None, file.path, file.old.rows, file.new.rows, gained)

    def _compare_rows(
        self, path: str, line: int | None, name: str, before: Sequence[str], after: Sequence[str], gained: list[str]
    ) -> Iterator[Avoidance]:
        lost = subtract(before, after, str)[:_MOST_COMPARED]
        missing: list[str] = []
        for row in lost:
            partner = max(gained, key=lambda other: _share_words(row, other), default=None)
            if partner is None or _share_words(row, partner) < _ROW_ALIKE:
                if not self._is_taken_over(row) and not self._is_kept(path, row):
                    missing.append(row)
                continue
            gained.remove(partner)
            if _is_value_change(row, partner):
                values = [new for old, new in zip_longest(split_row(row), split_row(partner)) if new and old != new]
                yield self._describe_change(path, line, name, row, partner, values)
        if missing:
            yield Avoidance(
                kind=AvoidanceKind.test_removed,
                path=path,
                line=line,
                what=f"{len(missing)} of its cases are gone, such as `{_show(missing[0], 60)}`."
                if len(missing) > 1
                else f"A case is gone: `{_show(missing[0], 80)}`.",
                confidence=0.8,
                severity=Severity.warning,
                count=len(missing),
                name=name,
                excuse="Its removal was asked for." if is_removal_asked(self.asked, *split_row(missing[0])) else "",
            )

    def _is_kept(self, path: str, row: str) -> bool:
        """Whether all that a case says is still in the file, in another form."""
        after = next((file.new.literals for file in self.files if file.path == path), frozenset[str]())
        telling = [word for word in split_row(row) if len(word) > _TELLING]
        return bool(telling) and all(word in after for word in telling)

    def _is_taken_over(self, row: str) -> bool:
        words = [word for word in split_row(row) if len(word) > 1]
        if words and sum(self.new_words[word] > 0 for word in words) / len(words) >= _MERGED:
            return True
        bare = {plain for word in words if (plain := _BARE.sub("", word))}
        return bool(bare) and any(bare <= each for each in self._rows_in_words)

    @cached_property
    def _rows_in_words(self) -> list[set[str]]:
        """The words of each case that is there after the change, if its tables changed, without signs."""
        rows = [row for each in (*(new for _, new in self._changed), *self.matches.added) for row in each.test.rows]
        rows += [row for file in self.files for row in file.new.rows]
        gained = {word for word in self.new_words if "map" in word or "for" in word or "replace" in word}
        return [{_BARE.sub("", word) for word in split_row(row)} for row in rows] if gained else []

    def find_weakened(self) -> Iterator[Avoidance]:
        for old, new in self.matches.pairs:
            if old.test.signature != new.test.signature or old.test.assertions != new.test.assertions:
                yield from self._compare_assertions(old, new)

    def _compare_assertions(self, old: PlacedTest, new: PlacedTest) -> Iterator[Avoidance]:
        pairs, lost, gained = pair_assertions(old.test.assertions, new.test.assertions)
        for before, after in pairs:
            is_delegated = self._calls_helper(after) and not self._calls_helper(before)
            found = None if is_delegated else self._judge_pair(new, before, after)
            if found is not None:
                yield found
        helpers = [each for name, each in self.new_helpers.items() if name in new.test.words - old.test.words]
        delegated = [each for each in gained if self._calls_helper(each)]
        if not lost or helpers or len(delegated) >= len(lost):
            return
        lost = [each for each in lost if each.strength > Strength.vacuous and not self._is_checked_elsewhere(each)]
        if not lost:
            return
        is_guarded = bool(gained) and min(each.guards for each in gained) > max(each.guards for each in lost)
        if is_guarded:
            kind, what, sure = AvoidanceKind.assertion_weakened, "stands behind a condition or handler now", 0.75
        elif any(each.strength is Strength.vacuous for each in gained):
            kind, what, sure = AvoidanceKind.assertion_weakened, "checks nothing any more", 0.9
        elif len(gained) >= len(lost) and max(each.strength for each in gained) < lost[0].strength:
            kind, what, sure = AvoidanceKind.assertion_weakened, "gave way to one that demands less", 0.8
        elif gained and min(each.strength for each in gained) > max(each.strength for each in lost):
            kind, what, sure = AvoidanceKind.assertion_removed, "gave way to a stricter one", 0.5
        elif len(gained) >= len(lost) or self._is_loop(lost, gained, new):
            kind, what, sure = AvoidanceKind.assertion_removed, "is replaced by another one", 0.5
        else:
            kind, what, sure = AvoidanceKind.assertion_removed, "is gone", 0.85
        yield Avoidance(
            kind=kind,
            path=new.path,
            line=new.test.line,
            what=f"In `{new.test.short_name}` an assertion {what}: `{lost[0].text[:80]}`.",
            confidence=sure,
            severity=Severity.warning,
            count=max(1, len(lost) - len(gained)),
            name=new.test.name,
            excuse="Its removal was asked for."
            if is_removal_asked(self.asked, *(set(lost[0].words) & self.former_functions))
            else "",
        )

    def _calls_helper(self, assertion: AssertionFact) -> bool:
        """Whether an assertion is a call of a function of these tests that checks something itself."""
        called = re.match(r"(?:(?:self|this|\$ this|t) (?:\.|->) )?([A-Za-z_]\w*) [(!]", assertion.text)
        return called is not None and called[1] in self.checking_functions

    @cached_property
    def checking_functions(self) -> frozenset[str]:
        return frozenset(
            each.name.rpartition(".")[2]
            for file in self.files
            if file.new.tests
            for each in file.new.functions
            if each.assertions
        )

    def _is_loop(self, lost: Sequence[AssertionFact], gained: Sequence[AssertionFact], new: PlacedTest) -> bool:
        """Whether an assertion in a loop over new values stands for those that are gone."""
        names = {word for each in lost for word in each.words} - {word for each in lost for word in each.literals}
        return bool(new.test.rows or new.test.words) and any(
            names and len(names & {*each.words}) / len(names) >= _MERGED for each in gained
        )

    def _is_checked_elsewhere(self, gone: AssertionFact) -> bool:
        """Whether a test gained this assertion, or one on the same subject and values."""
        own = frozenset(gone.words)
        return any(
            each.text == gone.text or (each.strength >= gone.strength and _share(own, frozenset(each.words)) >= _ALIKE)
            for each in self._new_assertions
            if each.words
        )

    @cached_property
    def _new_assertions(self) -> list[AssertionFact]:
        """What the tests of the change assert and did not before."""
        added = [each for test in self.matches.added for each in test.test.assertions]
        changed = [
            each
            for old, new in self._changed
            for each in subtract(new.test.assertions, old.test.assertions, lambda assertion: assertion.text)
        ]
        return [*added, *changed][: _MOST_COMPARED * 10]

    def _judge_pair(self, new: PlacedTest, before: AssertionFact, after: AssertionFact) -> Avoidance | None:
        name = new.test.short_name
        if after.guards > before.guards and after.strength <= before.strength:
            return self._weaker(new, after, f"In `{name}` an assertion stands behind a condition or handler now", 0.8)
        if after.strength < before.strength:
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
            return self._describe_change(new.path, after.line, new.test.name, before.text, after.text, [*gained])
        if before.kind == "raises" and after.kind == "raises" and not {*before.words} <= {*after.words}:
            return self._describe_change(new.path, after.line, new.test.name, before.text, after.text, [*after.words])
        if lost and not gained and len(after.words) < len(before.words) and before.kind == after.kind == "raises":
            return self._weaker(new, after, f"In `{name}` any message of the error will do", 0.7)
        flipped = before.text != after.text and _strip_negation(before.text) == _strip_negation(after.text)
        if flipped or (before.kind == "equal" == after.kind and _only_truth_differs(before.text, after.text)):
            return self._describe_change(new.path, after.line, new.test.name, before.text, after.text, [])
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
        if after.strength is Strength.partial and gone.total() > max(1, come.total()):
            what = f"In `{name}` an assertion asks about less: `{before.text[:60]}` became `{after.text[:60]}`"
            return self._weaker(new, after, what, 0.55)
        is_swap = 0 < gone.total() <= _MOST_SWAPPED and 0 < come.total() <= _MOST_SWAPPED
        is_other = not gone and not come and before.text != after.text
        if (
            (is_swap or is_other)
            and before.kind == after.kind == "equal"
            and not self._are_renamed(new.path, gone, come)
        ):
            found = self._describe_change(new.path, after.line, new.test.name, before.text, after.text, [*come])
            return found.model_copy(update={"confidence": 0.5})
        return None

    def _are_renamed(self, path: str, gone: Counter[str], come: Counter[str]) -> bool:
        """Whether a name changed everywhere, so that the assertion is the same in new words."""
        there = {word for file in self.files if file.path == path for test in file.new.tests for word in test.words}
        known = {word for file in self.files if file.path == path for test in file.old.tests for word in test.words}
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
            severity=Severity.warning,
            name=new.test.name,
        )

    def _describe_change(
        self, path: str, line: int | None, name: str, before: str, after: str, values: Sequence[str]
    ) -> Avoidance:
        asked = bool(self.asked) and is_mentioned(self.asked, values)
        return Avoidance(
            kind=AvoidanceKind.expectation_changed,
            path=path,
            line=line,
            what=f"An expectation changed: `{_show(before, 70)}` became `{_show(after, 70)}`.",
            confidence=0.55 if self.changes_program else 0.75,
            severity=Severity.warning,
            name=name,
            excuse="The new value was asked for." if asked else "",
        )


_BARE = re.compile(r"\W+")
_WRAPPERS = re.compile(r"\b(?:bool|Boolean|len|length|typeof|type|callable|isinstance|instanceof|any)\b|!!")
_IS_THERE = re.compile(r"!=\s*(?:nil|null)\b|is not None|!==?\s*undefined|hasattr|\bis_(?:some|ok|err)\b")


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


_VALUE_AND_TOLERANCE = 2


def _show(text: str, longest: int) -> str:
    return " ".join(split_row(text))[:longest].replace("`", "'")


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def _share_words(one: str, other: str) -> float:
    first, second = Counter(split_row(one)), Counter(split_row(other))
    union = (first | second).total()
    return (first & second).total() / union if union else 0.0


def _is_value_change(before: str, after: str) -> bool:
    """Whether two rows begin alike and end otherwise."""
    first, second = split_row(before), split_row(after)
    return first != second and first[:2] == second[:2]


def _read_number(text: str) -> float | None:
    try:
        return float(text.strip("\"'").rstrip("fFdDmMlL"))
    except ValueError:
        return None


def _strip_negation(text: str) -> str:
    return re.sub(r"\bnot\b|\. not\b|! |Not|False|True|\bfalse\b|\btrue\b|_not_|refute|!", "", text).replace("  ", " ")


def _only_truth_differs(before: str, after: str) -> bool:
    return before != after and re.sub(r"\b(true|false|True|False)\b", "", before) == re.sub(
        r"\b(true|false|True|False)\b", "", after
    )
