"""Finds tests that stay and do not run any more, or pass only if they fail."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.review.avoidance.conditions import holds
from agents.review.avoidance.facts import ChoiceFact
from agents.review.avoidance.pairing import PlacedTest, subtract
from agents.review.avoidance.pairs import is_removal_asked
from agents.review.avoidance.repository_context import RepositoryContext
from agents.review.avoidance.selection import EVERY_FEATURE, is_ignored
from agents.review.avoidance.tables import split_row
from agents.review.avoidance.test_change import MOST_COMPARED, TAKEN_OVER, TestChange, show
from domain.review.avoidance import Avoidance, AvoidanceKind

_DISABLED = re.compile(
    r"(slow|integration|performance|manual|skip(ped)?|flaky|quarantined?|disabled?|broken|ignored?|wip|todo|nightly|"
    r"known[-_]?fail\w*|unstable|off)$",
    re.IGNORECASE,
)
"""Groups that many projects leave out."""
_USUAL = re.compile(
    r"linux$|unix$|amd64$|x86_64$|cgo$|gc$|go1\.\d+$|test$|debug_assertions$|DEBUG$|TRACE$|NET\w*$|true$|"
    r"target_os\s*=\s*\"linux\"|target_family\s*=\s*\"unix\"|target_pointer_width\s*=\s*\"64\"|target_has_atomic|"
    r"target_endian\s*=\s*\"little\"|target_arch\s*=\s*\"x86_64\"|panic\s*=\s*\"unwind\"|doctest$"
)
"""What holds on the machines that most projects test on."""
_SYSTEM = re.compile(
    r"windows$|darwin$|macos$|plan9$|solaris$|illumos$|\w+bsd$|dragonfly$|aix$|android$|ios$|js$|wasi\w*$|wasm\w*$|arm\w*$|"
    r"386$|riscv64$|s390x$|ppc\w*$|mips\w*$|loong64$|race$|target_\w+|WINDOWS$|UNITY_\w+|miri$|loom$"
)
_FEATURE = re.compile(r"feature\s*=\s*\"([^\"]*)\"")
_NEVER = re.compile(r"(if|#if) \(? ?(False|false|0|None|nil|null|undefined)\b|else \(? ?(True|true|1)\b|#if false$")
_AS_PROGRAM = re.compile(r"__name__|require \. main|\$0 ==|__FILE__ ==")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
_COMPILED = ("tag ", "cfg ", "#if ")
_LEAST_LITERALS = 2
_TELLING = 5  # characters of a literal, quotes included


@dataclass(frozen=True)
class UnrunTests:
    """Which tests are there and are not run, as the settings of their runner have it.

    :param around: what the repository says of its tests besides.
    """

    change: TestChange
    around: RepositoryContext

    def find_unrun(self) -> list[Avoidance]:
        return [
            *self._find_shadowed(),
            *self._find_grouped(),
            *self._find_conditional(),
            *self._find_moved(),
            *self._find_inverted(),
            *self._find_given_up(),
        ]

    @cached_property
    def _pairs(self) -> Sequence[tuple[PlacedTest, PlacedTest]]:
        """The tests that ran before."""
        return [
            (old, new)
            for old, new in self.change.matches.pairs
            if (not old.test.skip or old.test.is_conditional) and not old.test.shadowed_by
        ]

    # --- tests of one name ---------------------------------------------------------------------------------

    def _find_shadowed(self) -> Iterator[Avoidance]:
        for old, new in self._pairs:
            if new.test.shadowed_by and not self._has_twin(old, new):
                name = new.test.short_name
                yield Avoidance(
                    kind=AvoidanceKind.test_removed,
                    path=new.path,
                    line=new.test.shadowed_by,
                    what=f"`{name}` in line {new.test.line} does not run any more: what is called so here replaces it.",
                    confidence=0.9,
                    name=new.test.name,
                    excuse=self._excuse(name),
                )

    def _has_twin(self, old: PlacedTest, new: PlacedTest) -> bool:
        """Whether a test that runs does what this one did."""
        after = next((file.new.tests for file in self.change.files if file.path == new.path), ())
        return any(
            not each.shadowed_by and each.signature in {old.test.signature, new.test.signature} for each in after
        )

    # --- what a runner chooses by -----------------------------------------------------------------------------

    @cached_property
    def _choices(self) -> frozenset[ChoiceFact]:
        changed = (choice for file in self.change.files if not file.is_gone for choice in file.new.choices)
        return frozenset([*self.around.choices, *changed])

    @cached_property
    def _names(self) -> Mapping[tuple[str, bool], frozenset[str]]:
        found = defaultdict[tuple[str, bool], set[str]](set)
        for each in self._choices:
            found[each.kind, each.is_run].add(each.name)
        return {key: frozenset(names) for key, names in found.items()}

    def _list_names(self, kind: str, *, is_run: bool) -> frozenset[str]:
        return self._names.get((kind, is_run), frozenset())

    def _find_grouped(self) -> Iterator[Avoidance]:
        run = self._list_names("group", is_run=True)
        left_out = self._list_names("group", is_run=False) - run
        found = defaultdict[tuple[str, str], list[PlacedTest]](list)
        for old, new in self._pairs:
            if left_out & {*old.test.groups}:
                continue
            for group in dict.fromkeys(new.test.groups):
                is_doubted = _DISABLED.match(group) and group not in run
                if group not in old.test.groups and (group in left_out or is_doubted):
                    found[new.path, group].append(new)
        for (_, group), tests in found.items():
            is_sure = group in left_out
            what = f"in the group `{group}` now, which {'the runner leaves' if is_sure else 'runners often leave'} out"
            yield self._describe(tests, what, 0.85 if is_sure else 0.55, group)

    def _find_conditional(self) -> Iterator[Avoidance]:
        found = defaultdict[tuple[str, str, float], list[PlacedTest]](list)
        for old, new in self._pairs:
            fresh = [need for need in dict.fromkeys(new.test.needs) if need not in old.test.needs]
            judged = [(self._judge_need(need), need) for need in fresh]
            sure, need = max(judged, default=(0.0, ""))
            if sure and all(self._judge_need(each) < sure for each in old.test.needs):
                found[new.path, need, sure].append(new)
        for (_, need, sure), tests in found.items():
            kind, _, condition = need.partition(" ")
            place = {"def": "within the function", "else": "in the other branch of"}.get(kind, "there only under")
            yield self._describe(tests, f"{place} `{condition.replace('`', '')[:60]}` now", sure, need)

    def _judge_need(self, need: str) -> float:
        """How sure it is that what stands under a condition does not run."""
        if need.startswith(_COMPILED):
            return self._judge_compiled(need)
        if _NEVER.match(need):
            return 0.9
        if _AS_PROGRAM.search(need):
            return 0.85
        if need.startswith("def "):
            return 0.75
        known = self._list_names("variable", is_run=True)
        return 0.0 if known & {*_VARIABLE.findall(need)} else 0.5

    def _judge_compiled(self, need: str) -> float:
        chosen = self._list_names("set", is_run=True)
        condition = need.partition(" ")[2]

        def is_set(name: str) -> bool:
            feature = _FEATURE.match(name)
            if feature is not None:
                return feature[1] in chosen or EVERY_FEATURE in chosen
            return name in chosen or _USUAL.match(name) is not None

        if holds(condition, is_set):
            return 0.0
        if any(need in file.new.needs for file in self.change.files if not file.is_test):
            return 0.5  # the program is compiled for the same only
        on_another = holds(condition, lambda name: is_set(name) or _SYSTEM.match(name) is not None)
        features = _FEATURE.findall(condition)
        is_of_program = any(
            f'"{feature}"' in file.new.literals - file.old.literals
            for feature in features
            for file in self.change.files
            if not file.new.tests
        )
        return 0.5 if on_another or is_of_program else 0.85

    # --- places where a runner looks -----------------------------------------------------------------------------

    def _find_moved(self) -> Iterator[Avoidance]:
        before = {file.path: file.before_path or file.path for file in self.change.files}
        found = defaultdict[str, list[PlacedTest]](list)
        for old, new in self._pairs:
            was = before.get(old.path, old.path)
            if was != new.path and self._is_collected(was) and not self._is_collected(new.path):
                found[new.path].append(new)
        for path, tests in found.items():
            yield self._describe(tests, f"in `{path}` now, where the runner does not look", 0.85, path)

    def _is_collected(self, path: str) -> bool:
        roots = self._list_names("root", is_run=True)
        if any(is_ignored(path, each) for each in self._list_names("named", is_run=True)):
            return True
        if any(is_ignored(path, each) for each in self._list_names("path", is_run=False)):
            return False
        return not roots or any(_lies_in(path, root) for root in roots)

    # --- tests that are to fail ------------------------------------------------------------------------------------

    def _find_inverted(self) -> Iterator[Avoidance]:
        for old, new in self._pairs:
            if new.test.inverted and not old.test.inverted and old.test.assertions:
                yield self._describe_hollow(new, "passes only if its assertion fails now", new.test.inverted)

    def _find_given_up(self) -> Iterator[Avoidance]:
        """New tests that are to fail, or do not count, and hold what another one checked before."""
        for new in self.change.matches.added:
            how = new.test.inverted or ("" if new.test.is_conditional else new.test.skip)
            lost = next((each for each in self._losses if _takes_over(new, each)), None) if how else None
            if lost is not None:
                yield self._describe_hollow(
                    new, f"is the only one with `{show(' '.join(lost), 50)}` now, and is to fail or does not count", how
                )

    @cached_property
    def _losses(self) -> list[list[str]]:
        """The words of each case, assertion and test that is not where it was."""
        rows = [row for file in self.change.files for row in subtract(file.old.rows, file.new.rows, str)]
        assertions = [each for gone in self.change.matches.removed for each in gone.test.assertions]
        for old, new in self.change.matches.pairs:
            if old.test.rows != new.test.rows:
                rows += subtract(old.test.rows, new.test.rows, str)
        for old, new in self.change.differences:
            assertions += subtract(old.test.assertions, new.test.assertions, lambda each: each.text)
        rows += [row for gone in self.change.matches.removed for row in gone.test.rows]
        found = [split_row(row) for row in rows] + [[*each.words] for each in assertions]
        return found[: MOST_COMPARED * 10]

    # --- words --------------------------------------------------------------------------------------------------------

    def _describe_hollow(self, new: PlacedTest, what: str, how: str) -> Avoidance:
        name = new.test.short_name
        return Avoidance(
            kind=AvoidanceKind.test_skipped,
            path=new.path,
            line=new.test.line,
            what=f"The test `{name}` {what}: `{how.replace('`', '')[:80]}`.",
            confidence=0.85,
            name=new.test.name,
            excuse=self._excuse(name),
        )

    def _describe(self, tests: Sequence[PlacedTest], what: str, confidence: float, name: str) -> Avoidance:
        first = tests[0]
        names = ", ".join(f"`{each.test.short_name}`" for each in tests[:3])
        begin = f"The test {names} is" if len(tests) == 1 else f"{len(tests)} tests, such as {names}, are"
        excuses = [self._excuse(each.test.short_name) for each in tests]
        return Avoidance(
            kind=AvoidanceKind.test_deselected,
            path=first.path,
            line=first.test.line,
            what=f"{begin} {what}.",
            confidence=confidence,
            name=f"{first.test.name}: {name}"[:200],
            excuse=excuses[0] if all(excuses) else "",
        )

    def _excuse(self, name: str) -> str:
        return "That was asked for." if is_removal_asked(self.change.asked, name) else ""


def _lies_in(path: str, root: str) -> bool:
    is_whole = root in {"", ".", "*", "**"}
    return is_whole or (is_ignored(path, root) if "*" in root else f"{path}/".startswith(f"{root}/"))


def _takes_over(test: PlacedTest, words: Sequence[str]) -> bool:
    """Whether a test holds the values of a case."""
    values = {word for word in words if word[:1] in "\"'`" or word[:1].isdigit()}
    is_telling = len(values) >= _LEAST_LITERALS or any(len(each) > _TELLING for each in values)
    return is_telling and len(values & test.test.words) / len(values) >= TAKEN_OVER
