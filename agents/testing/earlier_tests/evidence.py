"""Collects the evidence for the earlier tests that do not pass on the new code, and judges each."""

import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from agents.testing.absence import find_lack
from agents.testing.earlier_tests.choice import Entry
from agents.testing.earlier_tests.culprits import CulpritSearch
from agents.testing.earlier_tests.gone import GoneNames, name_for_people
from agents.testing.earlier_tests.loading import cut_tests, find_error_lines, stub_names
from agents.testing.earlier_tests.manifests import keep_tests
from agents.testing.earlier_tests.names import shorten
from agents.testing.earlier_tests.outcomes import (
    FAILED_BEFORE,
    FLAKY,
    NEWER,
    NOT_LOADED,
    NOT_LOADED_BEFORE,
    NOT_RUN,
    RENUMBERED,
    SKIPPED,
    CountedText,
    SharedChange,
    TestEvidence,
    find_cause,
    judge,
    list_causes,
    may_be_meant,
)
from agents.testing.earlier_tests.reading import Reader, list_shared_changes
from agents.testing.earlier_tests.running import (
    BaseRunKeeper,
    FileRunner,
    Ran,
    Sides,
    find_numbered,
    find_table,
    find_version,
    list_passed,
    pack_runs,
)
from agents.testing.earlier_tests.texts import Version, find_stand_in, measure_likeness
from agents.testing.tester import Tester
from domain.runs.earlier_tests import EarlierOutcome, EarlierTest, Fate
from domain.runs.testing import CaseOutcome, TestCase
from domain.text.escaping import name_count
from workspace.commits import write_blob, write_tree

_ROUNDS = 4  # in which files that cannot be loaded are cut
_NEARLY = 0.05  # by which the likeness of two pairs of tests tells nothing
_MOST_HEAD = 60  # files of head in which a test may have found another place
_ON_BASE = "Without the change: {}"
_ATTRIBUTES = r"PHPUnit\Framework\Attributes"  # that PHPUnit knows since its version 10


class Collector:
    """Runs what did not pass again, elsewhere, and in parts.

    :ivar not_run: why tests could not be run.
    """

    def __init__(
        self,
        tester: Tester,
        runner: FileRunner,
        reader: Reader,
        sides: Sides,
        files: Sequence[str],
        first: Ran,
        keeper: BaseRunKeeper | None,
    ) -> None:
        self.not_run = [*first.not_run]
        self._tester = tester
        self._runner = runner
        self._reader = reader
        self._keeper = keeper
        self._sides = sides
        self._files = files
        self._tree = sides.tree
        self._cases = dict(first.cases)
        self._loading = dict(first.loading)
        self._missing: defaultdict[str, dict[str, None]] = defaultdict(dict)  # path → names that its file needs
        self._cut: dict[tuple[str, str], tuple[str, ...]] = {}  # path and name of a test → what it needs
        self._parts: dict[str, Entry | None] = {}  # path → its file without what is gone
        self._in_need: set[str] = set()  # ids of tests that need what is gone: without it they fail before, too
        self._versions: dict[str, list[Version]] = {}
        self._before: Mapping[str, TestCase] = {}  # as they ended on the code they were written for
        self._fresh: Mapping[Version, Sequence[TestCase]] = {}  # tests that the change adds, and how they ended

    async def collect(self) -> list[EarlierTest]:
        """What each test came to."""
        doubtful = self._list_doubtful()
        if not doubtful:
            return [_hold(case) for case in self._cases.values()]
        sides = self._sides
        gone = await GoneNames.of(self._reader, (sides.old, sides.new), sides.base, sides.head)
        texts = await self._reader.read(sides.old, doubtful)
        self._versions = await self._reader.find_versions(texts)
        await self._load_in_parts(texts, gone)
        await self._load_with_new_helpers(gone)
        once, twice = await self._run_before(doubtful)
        self._before = once.cases
        self.not_run += [_ON_BASE.format(why) for why in once.not_run if why not in self.not_run]
        passed = list_passed(once) & list_passed(twice)
        held = [case for case in self._cases.values() if case.outcome is CaseOutcome.passed]
        red = {name for name in once.cases if _is_bad(once.cases[name]) and _is_bad(twice.cases.get(name))}
        telling = passed | red if sides.asking else passed
        failed = [name for name, case in self._cases.items() if case.outcome.is_bad and name in telling]
        again = await self._runner.run(self._tree, doubtful, sides.runners) if failed else Ran()
        await self._run_parts_before()
        doubts = {**self._cases, **once.cases}
        for case in held:
            doubts.pop(case.id, None)
        evidence = [self._describe(case, passed, red, again, gone) for case in doubts.values()]
        evidence = await self._find_places(evidence, gone)
        evidence = await self._try_places_before(evidence)
        evidence = await confirm(await self._find_culprits(evidence), self._run_once_more)
        told = [judge(each) for each in evidence if each.path]
        self._explain(evidence, told, once)
        return [*map(_hold, held), *(each for each in told if not _was_no_test(each, once))]

    def _list_doubtful(self) -> list[str]:
        bad = {case.path for case in self._cases.values() if case.outcome is not CaseOutcome.passed}
        seen = {case.path for case in self._cases.values()}
        return [path for path in self._files if path in bad or path in self._loading or path not in seen]

    async def _load_in_parts(self, texts: Mapping[str, str], gone: GoneNames) -> None:
        """Run files that cannot be loaded without what is gone from the program, as often as that helps."""
        current = dict(texts)
        for _ in range(_ROUNDS):
            edited = {path: self._edit(path, current[path], gone) for path in self._loading if path in current}
            edited = {path: text for path, text in edited.items() if text != current[path]}
            if not edited:
                return
            current.update(edited)
            for path, text in edited.items():
                mode = self._sides.base[path][0]
                self._parts[path] = (mode, await write_blob(self._tester.mirror.git, text.encode()))
            overlay = {**self._sides.overlay, **self._parts}
            self._tree = await write_tree(self._tester.mirror.git, self._sides.new, overlay)
            ran = await self._runner.run(self._tree, list(self._loading), self._sides.runners)
            self._loading = dict(ran.loading)
            self._cases.update(ran.cases)

    async def _run_before(self, files: Sequence[str]) -> Sequence[Ran]:
        """Two runs on the code they were written for; of an earlier change with the same base, if they are kept."""
        kept = None if self._keeper is None else await self._keeper.find(files)
        if kept is not None:
            return 2 * [Ran({case.id: case for case in kept.cases})]
        await self._tester.tell("Running earlier tests on the code they were written for")
        runs = await self._runner.repeat(self._sides.old, files, self._sides.runners, 2)
        packed = pack_runs(runs)
        if self._keeper is not None and packed is not None:
            await self._keeper.save(files, packed)
        return runs

    async def _run_parts_before(self) -> None:
        """Run files without what is gone on the program that still has it: what fails there needs it."""
        if self._parts and any(case.outcome.is_bad for case in self._cases.values()):
            tree = await write_tree(self._tester.mirror.git, self._sides.old, self._parts)
            ran = await self._runner.run(tree, [*self._parts], self._sides.runners)
            self._in_need = {name for name, case in ran.cases.items() if case.outcome.is_bad}

    async def _load_with_new_helpers(self, gone: GoneNames) -> None:
        """Run files that cannot be loaded on what tests share at head.

        Of these runs only what passes counts, and what fails for want of something that is gone from the program.
        """
        sides, paths = self._sides, list(self._loading)
        overlay = {path: entry for path, entry in sides.overlay.items() if path in self._loading}
        if not paths or overlay.keys() == sides.overlay.keys():
            return
        tree = await write_tree(self._tester.mirror.git, sides.new, overlay)
        ran = await self._runner.run(tree, paths, sides.runners)
        passed = list_passed(ran)
        told = {
            name: case
            for name, case in ran.cases.items()
            if name in passed or (case.outcome.is_bad and gone.verify(case.details or case.message))
        }
        self._cases |= told
        loaded = {case.path for case in told.values()}
        self._loading = {path: output for path, output in self._loading.items() if path not in loaded}

    def _edit(self, path: str, text: str, gone: GoneNames) -> str:
        """A file without what needs names that are gone; unchanged where none are seen to be."""
        output = self._loading[path]
        names = gone.verify(output)
        lines = find_error_lines(path, output)
        self._missing[path].update(dict.fromkeys(names))
        known = tuple(self._missing[path]) or tuple(name for each in self._missing.values() for name in each)
        if not known:
            return text
        stubbed = stub_names(path, text, known)
        if stubbed != text or path.endswith((".py", ".js", ".mjs", ".cjs")):
            return stubbed
        tests = [each.test for each in self._versions.get(path, ())]
        kept, cut = cut_tests(text, tests, lines)
        for test in cut:
            self._cut[path, test.name] = known
        return kept

    def _describe(self, case: TestCase, passed: set[str], red: set[str], again: Ran, gone: GoneNames) -> TestEvidence:
        path = case.path or ""
        before = find_version(case, self._versions.get(path, ()))
        here = self._cases.get(case.id)
        found = TestEvidence(
            id=case.id,
            path=path,
            case=here,
            again=again.cases.get(case.id),
            passed_before=case.id in passed,
            failed_before=case.id in red,
            asking=self._sides.asking,
            loading=self._loading.get(path, ""),
            before=before,
        )
        if before is not None and (cut := self._cut.get((path, before.test.name))):
            return replace(found, loading="It was cut.", gone=name_for_people(cut), is_named_gone=True)
        if case.id in self._in_need:
            names = self._missing.get(path) or {name for each in self._missing.values() for name in each}
            return replace(found, gone=name_for_people((*names,)), is_named_gone=True)
        named = gone.verify(found.output) if here is not None and here.outcome.is_bad else ()
        missing = self._missing.get(path, {})
        if before is not None and (here is None or here.outcome.is_bad):
            code = "\n".join(before.lines)
            named = (
                *named,
                *(name for name in missing if re.search(rf"(?<!\w){re.escape(shorten(name))}(?!\w)", code)),
            )
            if here is None and path in self._loading and not named and len(missing) == 1:
                named = (*missing,)  # it cannot be loaded at all for want of this
        return replace(found, gone=name_for_people(tuple(dict.fromkeys(named))), is_named_gone=bool(named))

    async def _find_places(self, evidence: Sequence[TestEvidence], gone: GoneNames) -> list[TestEvidence]:
        """The evidence with what stands in the place of each test at head, and how that ends."""
        open_ = [
            each
            for each in evidence
            if _is_bad(each.case) and (each.passed_before or (each.failed_before and each.asking))
        ]
        sides = self._sides
        unloaded = {each.path for each in evidence if each.passed_before and each.gone and each.path in sides.head}
        if not open_ and not unloaded:
            return [*evidence]
        paths = {path for each in open_ for path in (each.path, sides.moved.get(each.path, ""))}
        changed = [path for path in sides.head if sides.head[path] != sides.base.get(path) and sides.now.has(path)]
        there = [path for path in dict.fromkeys([*sorted(paths), *changed]) if path in sides.head][:_MOST_HEAD]
        new, old = await self._reader.read(sides.new, there), await self._reader.read(sides.old, there)
        after, before = await self._reader.find_versions(new), await self._reader.find_versions(old)
        rest = {
            each.path: each
            for each in list_shared_changes(_cut_all(old, before), _cut_all(new, after))
            if each.path in old and each.path in new
        }
        known = {(path, each.test.name, each.test.groups) for path, tests in before.items() for each in tests}
        fresh = [
            each
            for tests in after.values()
            for each in tests
            if (each.path, each.test.name, each.test.groups) not in known
        ]
        left = {(each.test.name, each.test.groups) for tests in after.values() for each in tests}
        earlier = [each for tests in {**self._versions, **before}.values() for each in tests]
        went = [each for each in earlier if (each.test.name, each.test.groups) not in left]
        places = {each.id: _place(each, after, fresh, sides.moved, went) for each in open_}
        placed = _share_out(places, open_)
        named = {each.path for each in open_ if placed[each.id] is None and each.path in there}
        wanted = sorted({*unloaded, *named, *(version.path for version in placed.values() if version is not None)})
        await self._tester.tell("Running what stands in the place of earlier tests")
        now = await self._runner.run(sides.new, wanted, sides.now)
        cases: defaultdict[Version, list[TestCase]] = defaultdict(list)
        for case in now.cases.values():
            version = find_version(case, after.get(case.path or "", ()))
            if version is not None:
                cases[version].append(case)
        self._fresh = {version: cases[version] for version in fresh if version in cases}
        helpers = [each for path, each in rest.items() if not before.get(path) and (each.removed or each.added)]
        shared = (*helpers, *await self._list_shared())  # some helpers are named as tests are
        known_places = [
            await self._add_place(
                replace(
                    each,
                    is_anothers=_is_anothers(placed[each.id], each.before, went, fresh),
                    rest=rest.get(each.path),
                    shared=shared,
                    now=_find_unread(each, placed, now),
                    unknowable=_find_obstacle(each, placed[each.id], now, old, new),
                ),
                placed[each.id],
                cases,
                now.hushed,
                gone,
            )
            if each.id in placed
            else each
            for each in evidence
        ]
        told = [replace(each, is_broken=each.path in unloaded & now.loading.keys()) for each in known_places]
        found = await self._find_unreached(self._compare_numbers(told, now))
        still = list_passed(now)
        return [
            replace(each, now=(now.cases[each.id],)) if each.gone and each.case is None and each.id in still else each
            for each in found
        ]

    def _compare_numbers(self, evidence: Sequence[TestEvidence], now: Ran) -> list[TestEvidence]:
        """The evidence without rows that only have a number, where each row has another one than before.

        Where there are fewer than before of the same program, one that failed may be among those that went.
        """
        before, here, head = (Counter(map(find_numbered, cases)) for cases in (self._before, self._cases, now.cases))
        rows = Counter(map(find_table, now.cases))  # also those that have names now
        found: list[TestEvidence] = []
        for each in evidence:
            test = find_numbered(each.id)
            if test is None or not each.now or before[test] == here[test] == head[test]:
                found.append(each)
            elif before[test] == here[test] > rows[test] > 0:
                found.append(replace(each, has_fewer_rows=True))
            else:
                found.append(replace(each, unknowable=RENUMBERED))
        return found

    async def _find_unreached(self, evidence: Sequence[TestEvidence]) -> list[TestEvidence]:
        """The evidence with which tests fail where no run of all tests comes any more: nobody sees that.

        A test that is where it was, and all that tests share is as it was, is reached as before.
        """
        failing = [
            (each.id, path, {*map(_name_alone, each.now)})
            for each in evidence
            if (path := _find_file(each))
            and any(case.outcome.is_bad for case in each.now)
            and (each.shared or path != each.path)
        ]
        if not failing:
            return [*evidence]
        await self._tester.tell("Running all tests, as some that fail may be left out now")
        ran = await self._runner.run_all(self._sides.new, sorted({path for _, path, _ in failing}), self._sides.now)
        is_broken = any(case.outcome is CaseOutcome.error for case in ran.cases.values())  # what follows may be missing
        if ran.not_run or not ran.cases or is_broken:
            return [*evidence]
        paths = {*ran.loading, *(case.path for case in ran.cases.values())}
        elsewhere = (case for case in ran.cases.values() if case.path not in self._sides.head)
        names = {*map(_name_alone, elsewhere)}  # of which the report does not tell a file
        unreached = {name for name, path, cases in failing if path not in paths and not cases & names}
        return [replace(each, is_unreached=each.id in unreached) for each in evidence]

    async def _add_place(
        self,
        found: TestEvidence,
        after: Version | None,
        cases: Mapping[Version, Sequence[TestCase]],
        hushed: Collection[str],
        gone: GoneNames,
    ) -> TestEvidence:
        now = tuple(cases.get(after, ())) if after is not None else found.now
        own = [case for case in now if case.id == found.id]
        now = tuple(own) or now
        bad = [case.id for case in now if case.outcome.is_bad]
        placed = replace(
            found,
            after=after,
            now=now,
            is_hushed=bool(bad) and all(each in hushed for each in bad),
            is_left_out=bool(now) and not own and _find_row(found.id) is not None,
        )
        is_there = any(case.outcome is not CaseOutcome.skipped for case in now)
        if found.before is not None and not placed.gone and not is_there:
            return replace(placed, gone=await gone.find_in(found.before, after))
        return placed

    async def _try_places_before(self, evidence: Sequence[TestEvidence]) -> list[TestEvidence]:
        """The evidence with how what stands in the place of a changed test ends on the program as it was.

        One that may demand less counts as changed until it is seen to pass there, too, or cannot be run.
        """
        asked = {each.id: place for each in evidence if (place := _find_file(each)) and _has_changed(each)}
        if not asked:
            return [*evidence]
        sides = self._sides
        tree = await write_tree(self._tester.mirror.git, sides.old, sides.underlay)
        await self._tester.tell("Running what stands in the place of earlier tests on the code of before")
        once, twice = await self._runner.repeat(tree, sorted({*asked.values()}), sides.now, 2)
        passed = list_passed(once) & list_passed(twice)
        blind = {each.id for each in evidence if each.id in asked and all(case.id in passed for case in each.now)}
        red = {name for name in once.cases if _is_bad(once.cases[name]) and _is_bad(twice.cases.get(name))}
        better = {each.id: self._guess_again(each, red) for each in evidence if each.id in blind and each.is_guessed}
        blind -= {name for name, found in better.items() if found is not None}
        evidence = [better.get(each.id) or each for each in evidence]
        known = {*once.cases, *twice.cases, *once.loading, *twice.loading}
        open_ = [each for each in evidence if each.id in asked]
        untried = {each.id for each in open_ if not known & {asked[each.id], *(case.id for case in each.now)}}
        telling = {_find_row(asked_id) for asked_id in asked.keys() - blind - untried} - {None}
        return [
            replace(
                each,
                is_blind=each.id in blind and _find_row(each.id) not in telling,
                is_untried=each.id in untried,
            )
            for each in evidence
        ]

    def _guess_again(self, found: TestEvidence, red: Collection[str]) -> TestEvidence | None:
        """The evidence with another test in its place, which shows the change.

        :param red: ids of the tests of head that fail on the program as it was.
        """
        telling = {
            version: cases
            for version, cases in self._fresh.items()
            if any(case.id in red for case in cases) and not any(case.outcome.is_bad for case in cases)
        }
        after = None if found.before is None else find_stand_in(found.before, [*telling])
        return None if after is None else replace(found, after=after, now=tuple(telling[after]), is_anothers=False)

    async def _find_culprits(self, evidence: Sequence[TestEvidence]) -> list[TestEvidence]:
        """The evidence with what the program would need to have as it was, for tests that may be meant to go."""
        failing = {each.id: each.path for each in evidence if may_be_meant(each)}
        if not failing:
            return [*evidence]
        await self._tester.tell("Looking for the lines for which earlier tests fail")
        search = CulpritSearch(self._tester.mirror.git, self._runner, self._reader, self._sides, self._tree)
        accused = {name for name, case in self._cases.items() if case.outcome.is_bad}
        found = await search.find(failing, accused)
        return [replace(each, culprits=found.get(each.id)) for each in evidence]

    async def _run_once_more(self, files: Sequence[str]) -> tuple[Ran, Ran]:
        """A run on the new code, and one on that of before."""
        now = await self._runner.run(self._tree, files, self._sides.runners)
        return now, await self._runner.run(self._sides.old, files, self._sides.runners)

    async def _list_shared(self) -> Sequence[SharedChange]:
        """How the change touches what tests share."""
        sides = self._sides
        asking = {each.path for each in sides.asking}
        paths = [path for path in sides.overlay if not (sides.runners.has(path) or sides.now.has(path))]
        paths = [path for path in paths if path not in asking]
        scripts = await self._reader.list_scripts((sides.old, sides.base), (sides.new, sides.head))
        before, after = await self._reader.read(sides.old, paths), await self._reader.read(sides.new, paths)
        return (*sides.asking, *list_shared_changes(before, after), *scripts)

    def _explain(self, evidence: Sequence[TestEvidence], told: Sequence[EarlierTest], once: Ran) -> None:
        """Say why the unknown ones are unknown."""
        unknown = [found for found, test in zip(evidence, told, strict=False) if test.outcome is EarlierOutcome.unknown]
        obstacles = Counter(each.unknowable for each in unknown if each.unknowable)
        self.not_run += [name_count(count, *texts) for texts, count in obstacles.items()]
        unknown = [each for each in unknown if not each.unknowable]
        passed_before = {each.path for each in unknown if each.passed_before}
        now = {path: output for path, output in self._loading.items() if path in passed_before}
        added = [path for path in self._sides.head if path not in self._sides.base]
        self.not_run += [*list_causes(NOT_LOADED_BEFORE, once.loading, added), *list_causes(NOT_LOADED, now)]
        skipped = [each for each in unknown if each.passed_before and _is(each.case, CaseOutcome.skipped)]
        flaky = [each for each in unknown if each.passed_before and each.case is not None and each not in skipped]
        left = [each for each in unknown if each.passed_before and each.case is None and not self._loading]
        counted = ((SKIPPED, skipped), (FLAKY, flaky), (NOT_RUN, left))
        self.not_run += [name_count(len(found), *texts) for texts, found in counted if found]
        red = [once.cases[each.id] for each in unknown if not each.passed_before and _is_bad(once.cases.get(each.id))]
        by_lack: defaultdict[str, list[TestCase]] = defaultdict(list)
        for case in red:
            by_lack[find_lack(f"{case.details}\n{case.message}")].append(case)
        self.not_run += [
            name_count(len(cases), *FAILED_BEFORE).format(f", as {lack}." if lack else _give_example(cases))
            for lack, cases in by_lack.items()
        ]


async def confirm(
    evidence: Sequence[TestEvidence], run: Callable[[Sequence[str]], Awaitable[tuple[Ran, Ran]]]
) -> list[TestEvidence]:
    """The evidence with a third look at what people would be asked about: a busy machine fails twice by chance.

    :param run: runs files on the new code and on that of before.
    """
    asked = {each.id: each.path for each in evidence if each.passed_before and each.path and _is_lost(each)}
    if not asked:
        return [*evidence]
    now, before = await run(sorted({*asked.values()}))
    return [
        replace(each, again=now.cases.get(each.id, each.again), passed_before=not _is_bad(before.cases.get(each.id)))
        if each.id in asked
        else each
        for each in evidence
    ]


def _give_example(cases: Sequence[TestCase]) -> str:
    """A test with why it fails, if any says so. A message of one word tells nothing, as bats has them."""
    said = ":" if len(cases) == 1 else ", such as"
    first = next((each for each in cases if each.message or each.details), cases[0])
    text = first.message if " " in first.message or not first.details else first.details
    name = _name_alone(first).replace("`", "'")
    return f", where Forge runs tests{said} `{name}`: {find_cause(text)}"


def _is_lost(found: TestEvidence) -> bool:
    return judge(found).outcome is EarlierOutcome.lost


def _cut_all(texts: Mapping[str, str], versions: Mapping[str, Sequence[Version]]) -> dict[str, str]:
    """The files without their tests: what these share within one file."""
    tests = {path: [each.test for each in versions.get(path, ())] for path in texts}
    cut = {path: cut_tests(text, tests[path], [each.start for each in tests[path]])[0] for path, text in texts.items()}
    return {path: keep_tests(path, text) for path, text in cut.items()}


def _find_unread(found: TestEvidence, placed: Mapping[str, Version | None], now: Ran) -> Sequence[TestCase]:
    """How a test ended at head whose text was not found, such as one whose name is put together."""
    same = now.cases.get(found.id)
    return () if same is None or placed.get(found.id) is not None else (same,)


def _find_file(found: TestEvidence) -> str | None:
    """The file of what stands in the place of a test."""
    return found.after.path if found.after is not None else next((case.path for case in found.now), None)


def _has_changed(found: TestEvidence) -> bool:
    return judge(found).outcome is EarlierOutcome.changed and not found.gone


def _place(
    found: TestEvidence,
    after: Mapping[str, Sequence[Version]],
    fresh: Sequence[Version],
    moved: Mapping[str, str],
    went: Sequence[Version],
) -> Version | None:
    """What stands in the place of a test at head: the same name where it was, else what is new there and alike.

    What may be in the place of another one that went is so only where nothing else is.
    """
    if found.before is None:
        return None
    test = found.before.test
    for path in (found.path, moved.get(found.path, "")):
        same = [each for each in after.get(path, ()) if each.test.name == test.name]
        exact = [each for each in same if each.test.groups == test.groups]
        if exact or len(same) == 1:
            return (exact or same)[0]
    first = find_stand_in(found.before, fresh)
    if first is None or not _is_anothers(first, found.before, went, fresh):
        return first
    second = find_stand_in(found.before, [each for each in fresh if each != first])
    return first if second is None or _is_anothers(second, found.before, went, ()) else second


def _is_anothers(
    place: Version | None, test: Version | None, went: Sequence[Version], fresh: Sequence[Version]
) -> bool:
    """Whether what seems to be in the place of a test may as well be in that of another one, which finds none better.

    :param went: earlier tests whose names are not at head any more.
    :param fresh: the tests that are new there; empty if it is not asked whether others find a better one.
    """
    if place is None or test is None or place.test.name == test.test.name:
        return False
    least = measure_likeness(test, place) - (_NEARLY if fresh else 0)
    rivals = (each for each in went if each != test and measure_likeness(each, place) > least)
    return any(not fresh or find_stand_in(each, fresh) == place for each in rivals)


def _share_out(placed: Mapping[str, Version | None], tests: Sequence[TestEvidence]) -> dict[str, Version | None]:
    """What stands in the place of each test: of those that need what is gone, only the most alike has a new one there.

    :param placed: id → what seems to stand there.
    """
    shared = dict(placed)
    alike: dict[str, float] = {}
    best: defaultdict[Version, float] = defaultdict(float)
    for each in tests:
        version = placed[each.id]
        if each.before is not None and version is not None and version.test.name != each.before.test.name:
            alike[each.id] = measure_likeness(each.before, version)
            best[version] = max(best[version], alike[each.id])
    for each in tests:
        version = placed[each.id]
        if each.is_named_gone and version is not None and each.id in alike and alike[each.id] < best[version]:
            shared[each.id] = None
    return shared


def _find_obstacle(
    found: TestEvidence, after: Version | None, now: Ran, old: Mapping[str, str], new: Mapping[str, str]
) -> CountedText | None:
    """Why nothing can be known of what stands in the place of a test; None if something can."""
    path = found.path if after is None else after.path
    has_run = any(case.path == path for case in now.cases.values())
    is_newer = _ATTRIBUTES in new.get(path, "") and _ATTRIBUTES not in old.get(found.path, "")
    return NEWER if is_newer and not has_run else None


def _find_row(name: str) -> tuple[str, str] | None:
    """The file and the row of a table by which a test goes; where several share a row, that is one demand."""
    path, _, test = name.partition("::")
    row = re.search(r"\[(.+)\]$|/(.+)$", test, re.DOTALL)
    return None if row is None else (path, row[1] or row[2])


def _name_alone(case: TestCase) -> str:
    """The name of a test without its file, which not every report tells."""
    return case.id.removeprefix(f"{case.path}::")


def _hold(case: TestCase) -> EarlierTest:
    return EarlierTest(
        id=case.id, path=case.path or "?", outcome=EarlierOutcome.holds, fate=Fate.rewritten, line=case.line
    )


def _is(case: TestCase | None, outcome: CaseOutcome) -> bool:
    return case is not None and case.outcome is outcome


def _is_bad(case: TestCase | None) -> bool:
    return case is not None and case.outcome.is_bad


def _was_no_test(test: EarlierTest, once: Ran) -> bool:
    """Whether a test was skipped before, too."""
    return test.outcome is EarlierOutcome.unknown and _is(once.cases.get(test.id), CaseOutcome.skipped)
