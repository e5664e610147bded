"""Runs a reproduction on the head and before the change, and decides from its endings what it shows of a claim.

A finding must not be called shown by chance: the test has to fail twice and alike on the head, at what it demands and
not at a name or a call that is the test's own mistake, and to pass twice before the change.
"""

import asyncio
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from agents.syntax.languages import find_language
from agents.syntax.symbols.imports import find_family
from agents.testing.earlier_tests.choice import Entry, choose
from agents.testing.earlier_tests.names import find_missing, misfits_call, shorten
from agents.testing.earlier_tests.reading import Reader, is_of_program
from agents.testing.earlier_tests.run import restore_mixed
from agents.testing.earlier_tests.running import FileRunner, Ran, Runners
from agents.testing.earlier_tests.texts import demands_something
from agents.testing.reproduction.place import names_file
from agents.testing.tester import CommandTimeouts, Tester
from domain.errors import CodeAccessError, ToolError
from domain.paths import holds_values, may_run
from domain.review.changes import Change
from domain.review.findings import LONGEST_OUTPUT, LONGEST_REASON, Finding, Proof, ProofOutcome, Reproduction
from domain.runs.testing import CaseOutcome
from messages import proofs as texts
from workspace.commits import write_blob, write_tree

_VARIES = re.compile(r"0x[0-9a-f]+|/tmp/\S+|\d+")
_LONGEST_SIGN = 200  # characters of an error that tell it from others


class EndingKind(StrEnum):
    """How one run of a reproduction ended."""

    failed = "failed"
    passed = "passed"
    not_loaded = "not_loaded"  # or none of its tests ran
    not_run = "not_run"  # the sandbox could not run it, or ended it


@dataclass(frozen=True)
class Ending:
    """How one run of a reproduction ended.

    :param failures: id of a test → its error, without what differs each time.
    :param passed: the ids of tests that passed.
    :param output: what failed, or what could not be loaded, printed.
    :param why: why it was not run, one sentence.
    """

    kind: EndingKind
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    passed: frozenset[str] = frozenset()
    output: str = ""
    why: str = ""


_REGULAR = "100644"
_TESTED = (
    r"(?i:pytest|unittest|doctest|nosetest|hypothesis|jest|vitest|mocha|jasmine|node_env|forge_)"
    r"|(?<=[\"'`./])(?i:tests?|testing)(?![a-z])"  # a name in quotation marks, an attribute, a folder
    r"|(?<![A-Za-z])(?:tests?_|[tT]est(?:s|ing|ed)?(?=[A-Z])|TEST)|(?<=_)(?i:test)|(?<=[a-z])(?:Test|TEST)"
)
_SURROUNDINGS = (
    r"environb?\b|getenv|getppid|argv|/proc/|cmdline|isatty|isTTY|\bprocess\b(?!\()|import\.meta|globalThis|require\.(?:main|cache)"
    r"|module\.(?:parent|children)|\bsys as\b"
    r"|(?<!import )\bsys\b(?!\.(?:exit|std(?:in|out|err)|maxsize|platform|version_info|byteorder)\b)"
)
_CALLERS = (
    r"\binspect\b|frame\(|\bf_(?:back|code|globals)\b|gettrace|getprofile|(?:extract|format|print|walk)_stack"
    r"|captureStackTrace|prepareStackTrace|\)\.stack\b|\bgc\.|psutil|__main__"
)
_BY_NAME = (
    r"__import__|import_module|importlib|(?<![.\w])(?:eval|exec|globals|vars|Function)\(|builtins|__dict__|__globals__"
)
_LOOKS = re.compile("|".join((_TESTED, _SURROUNDINGS, _CALLERS, _BY_NAME)))
"""Names of tests and their runners; what tells a process of itself and of its callers; names that are made up as it
runs. It is wide on purpose: who is named here for nothing loses one proof that a claim is wrong."""
_MARK = "the line that is asked about was reached"
_RAISES = {"python": f'raise AssertionError("{_MARK}")', "javascript": f'throw new Error("{_MARK}");'}


@dataclass(frozen=True)
class WrittenTest:
    """A test for one claim.

    :param path: where it is run; neither side of the change has a file there.
    :param command: what runs it, for people.
    :param about: the path of the file that the claim is about, and ``line`` its line; None if it has none.
    :param promise: the line shown that promises what it demands; empty if it is to pass before the change.
    :param known: what it showed on an earlier head; None if it never ran.
    """

    path: str
    text: str
    command: str
    about: str
    line: int | None = None
    promise: str = ""
    known: Proof | None = None


def write_again(finding: Finding) -> WrittenTest | None:
    """The test that showed a finding on an earlier head; None if none did."""
    known = finding.proof
    if known is None or known.reproduction is None or not known.is_shown:
        return None
    test = known.reproduction
    return WrittenTest(test.path, test.text, test.command, finding.path, finding.line, known.promise, known)


async def run_reproduction(tester: Tester, change: Change, test: WrittenTest, seconds: float) -> Proof:
    """What running a test shows of a claim about a change. Raises no errors: the proof says why it shows nothing.

    One that showed it on an earlier head shows it as long as it fails.

    :param change: of commits that the tester's mirror has.
    :param seconds: for all of it: checkouts, set-ups and runs.
    """
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            proof = await _Trial(tester, change, test, seconds).decide()
    except TimeoutError:
        proof = Proof(outcome=ProofOutcome.open, head_sha=change.head_sha, why=texts.TOO_LONG)
    except (CodeAccessError, ToolError) as error:
        why = texts.explain_not_run(str(error))
        proof = Proof(outcome=ProofOutcome.open, head_sha=change.head_sha, why=why)
    return proof.model_copy(update={"seconds": time.monotonic() - began})


async def try_with(
    tester: Tester, head: str, changed: Mapping[str, bytes], test: Reproduction, seconds: float
) -> Ending:
    """How a reproduction ends on a head of which some files are changed. Raises no errors.

    :param head: a commit that the tester's mirror has.
    :param changed: path → new content, of files that are there.
    :param seconds: for all of it.
    """
    reader, git = Reader(tester.mirror, tester.toolbox), tester.mirror.git
    runner = FileRunner(replace(tester, bounds=CommandTimeouts(command=seconds), baseline=None), seconds)
    try:
        async with asyncio.timeout(seconds):
            files = await reader.list_files(head)
            texts_of = {test.path: test.text.encode(), **changed}
            blobs = {path: await write_blob(git, content) for path, content in texts_of.items()}
            overlay = {path: (files[path][0] if path in files else _REGULAR, blob) for path, blob in blobs.items()}
            runners = await Runners.of(reader, head, {**files, **overlay})
            tree = await write_tree(git, head, overlay)
            return read_ending(await runner.run(tree, [test.path], runners), test.path)
    except TimeoutError:
        return Ending(EndingKind.not_run, why=texts.TOO_LONG)
    except (CodeAccessError, ToolError) as error:
        return Ending(EndingKind.not_run, why=str(error))


class _Trial:
    """One reproduction on both sides of a change."""

    def __init__(self, tester: Tester, change: Change, test: WrittenTest, seconds: float) -> None:
        self._tester = tester
        self._change = change
        self._test = test
        self._seconds = seconds
        self._reader = Reader(tester.mirror, tester.toolbox)
        timeouts = CommandTimeouts(command=seconds)
        self._runner = FileRunner(replace(tester, bounds=timeouts, baseline=None), seconds)

    async def decide(self) -> Proof:
        head = await self._reader.list_files(self._change.head_sha)
        first, second = await self._run_twice(self._change.head_sha, head)
        doubt = find_doubt(first, second)
        if doubt:
            return self._leave_open(doubt, first)
        if first.kind is EndingKind.passed:
            return await self._judge_passing(first, head)
        if await self._is_own_fault(first):
            return self._leave_open(texts.ITS_OWN_FAULT, first)
        known = self._test.known
        if known is not None:
            test = self._show(first, known.reproduction.before if known.reproduction else "")
            return known.model_copy(update={"head_sha": self._change.head_sha, "reproduction": test})
        base = await self._reader.list_files(self._change.merge_base)
        before = await self._run_twice(self._change.merge_base, base)
        told = tell_before(before, first)
        if shows_cause(first, before):
            return self._conclude(ProofOutcome.shown, first, before=told)
        if self._test.promise and breaks_promise(first, before):
            return self._conclude(ProofOutcome.promise_broken, first, before=told, promise=self._test.promise)
        return self._leave_open(texts.explain_before(told), first, told)

    async def _run_twice(
        self, commit: str, files: Mapping[str, Entry], overlay: Mapping[str, Entry | None] | None = None
    ) -> Sequence[Ending]:
        """How it ends twice on a commit, over which some files are laid."""
        path, git = self._test.path, self._tester.mirror.git
        blob = await write_blob(git, self._test.text.encode())
        tree = await write_tree(git, commit, {**(overlay or {}), path: (_REGULAR, blob)})
        runners = await Runners.of(self._reader, commit, {**files, path: (_REGULAR, blob)})
        return [read_ending(ran, path) for ran in await self._runner.repeat(tree, [path], runners, 2)]

    async def _judge_passing(self, passed: Ending, head: Mapping[str, Entry]) -> Proof:
        """A test that passes speaks against the claim if it demands something, comes to the line of the claim, and does
        not pass by settings of the change, nor where its code may know that a test runs it.
        """
        if self._test.known is None and not await self._demands_something():
            return self._leave_open(texts.WITHOUT_DEMAND, passed)
        old, new = self._change.merge_base, self._change.head_sha
        base = await self._reader.list_files(old)
        if look := await self._find_look(base, head):
            return self._leave_open(texts.explain_look(look), passed)
        runners = await Runners.of(self._reader, old, base)
        mixed = await restore_mixed(self._tester, self._reader, (old, base), (new, head))
        overlay = {**choose(base, head, runners.has).overlay, **mixed}
        if overlay:
            again = await self._run_twice(new, head, overlay)
            if any(each.kind is not EndingKind.passed for each in again):
                return self._leave_open(texts.ONLY_WITH_ITS_SETTINGS, passed)
        if self._test.known is None and not await self._comes_to_line():
            return self._leave_open(texts.NEVER_THERE, passed)
        return self._conclude(ProofOutcome.refuted, passed)

    async def _comes_to_line(self) -> bool:
        """Whether it fails once the line of the claim raises an error."""
        test, head = self._test, self._change.head_sha
        content = (await self._reader.read(head, [test.about])).get(test.about)
        broken = None if content is None or test.line is None else _break_line(test.about, content, test.line)
        if broken is None:
            return False
        reproduction = Reproduction(path=test.path, text=test.text, command=test.command)
        changed = {test.about: broken.encode()}
        ending = await try_with(self._tester, head, changed, reproduction, self._seconds)
        return ending.kind is EndingKind.failed and _MARK in ending.output

    async def _find_look(self, base: Mapping[str, Entry], head: Mapping[str, Entry]) -> str:
        """Where the change adds code that looks at what runs it; empty if nowhere."""
        changed = [path for path, entry in head.items() if base.get(path) != entry and _is_code(path)]
        before = await self._reader.read(self._change.merge_base, [path for path in changed if path in base])
        after = await self._reader.read(self._change.head_sha, changed)
        return _locate_look(before, {path: after.get(path) for path in changed})

    async def _demands_something(self) -> bool:
        """Whether it demands something of the file that the claim is about."""
        tests = (await self._reader.find_versions({self._test.path: self._test.text})).get(self._test.path, [])
        return names_file(self._test.text, self._test.about) and any(map(demands_something, tests))

    async def _is_own_fault(self, failed: Ending) -> bool:
        """Whether it fails because it names what is not there, or calls it as nobody can."""
        named = {shorten(name) for name in find_missing(failed.output)}
        own = [name for name in named if name in self._test.text]
        gone: Collection[str] = await self._reader.keep_unused(self._change.head_sha, own)
        return bool(gone) or misfits_call(failed.output)

    def _leave_open(self, why: str, ending: Ending, before: str = "") -> Proof:
        test = self._show(ending, before)
        head = self._change.head_sha
        return Proof(outcome=ProofOutcome.open, head_sha=head, why=why[:LONGEST_REASON], reproduction=test)

    def _conclude(self, outcome: ProofOutcome, ending: Ending, before: str = "", promise: str = "") -> Proof:
        test = self._show(ending, before)
        head = self._change.head_sha
        return Proof(outcome=outcome, head_sha=head, promise=promise[:LONGEST_REASON], reproduction=test)

    def _show(self, ending: Ending, before: str) -> Reproduction:
        test = self._test
        output = ending.output[-LONGEST_OUTPUT:]
        return Reproduction(path=test.path, text=test.text, command=test.command, output=output, before=before)


def _is_code(path: str) -> bool:
    """Whether a file may be part of the program, and not only a setting or a test of it."""
    return is_of_program(path) and may_run(path) and not holds_values(path)


def _locate_look(before: Mapping[str, str], after: Mapping[str, str | None]) -> str:
    """Where a change adds code that looks at what runs it, as ``path:line``; empty if nowhere.

    :param before: path → content, of what was there.
    :param after: path → content of the files changed; None where it cannot be read, which may hold anything.
    """
    for path, text in after.items():
        if text is None:
            return path
        old = set(before.get(path, "").split("\n"))
        lines = enumerate(text.split("\n"), 1)
        found = next((number for number, line in lines if line not in old and _LOOKS.search(line)), None)
        if found is not None:
            return f"{path}:{found}"
    return ""


def _break_line(path: str, text: str, line: int) -> str | None:
    """A program that raises an error before a line; None if nobody knows how in its language, or it has no such line.

    A test that passes all the same never came there, and clears nothing claimed of it. Code that notices what runs it
    may go another way than for its users; lists of how it could notice were gone round.
    Where a line continues a statement the program cannot be loaded any more, and nothing is shown either.

    :param line: from 1.
    """
    raises, lines = _RAISES.get(find_family(find_language(path) or "")), text.split("\n")
    if raises is None or not 1 <= line <= len(lines):
        return None
    own = lines[line - 1]
    indent = own[: len(own) - len(own.lstrip())]
    return "\n".join([*lines[: line - 1], f"{indent}{raises}", *lines[line - 1 :]])


def read_ending(ran: Ran, path: str) -> Ending:
    """How the reproduction ended.

    :param path: of its file; what other files report is not about it.
    """
    if ran.not_run:
        return Ending(EndingKind.not_run, why=ran.not_run[0])
    own = [case for case in ran.cases.values() if case.path == path]
    bad = [case for case in own if case.outcome.is_bad]
    passed = frozenset(case.id for case in own if case.outcome is CaseOutcome.passed)
    if path in ran.loading or len(own) != len(bad) + len(passed) or not own:
        return Ending(EndingKind.not_loaded, output=ran.loading.get(path, ""))
    failures = {case.id: _sign(case.message or case.details) for case in bad}
    output = "\n".join(case.details or case.message for case in bad)
    return Ending(EndingKind.failed if bad else EndingKind.passed, failures, passed, output)


def find_doubt(first: Ending, second: Ending) -> str:
    """Why two runs on the head say nothing, as a clause; empty if both failed alike, or both passed."""
    for each in (first, second):
        if each.kind is EndingKind.not_run:
            return texts.explain_not_run(each.why)
        if each.kind is EndingKind.not_loaded:
            return texts.NOT_LOADED
    is_same = first.failures == second.failures and first.passed == second.passed
    return "" if is_same else texts.FLAKY


def shows_cause(head: Ending, before: Sequence[Ending]) -> bool:
    """Whether all that fails on the head passes each time before the change."""
    return all(each.kind is EndingKind.passed and head.failures.keys() <= each.passed for each in before)


def breaks_promise(head: Ending, before: Sequence[Ending]) -> bool:
    """Whether what fails on the head could not have ended so before: it was not there, or failed in another way."""
    return all(
        each.kind is EndingKind.not_loaded or (each.kind is EndingKind.failed and each.failures != head.failures)
        for each in before
    )


def tell_before(before: Sequence[Ending], head: Ending) -> str:
    """How it ended before the change, in a few words."""
    kinds = {each.kind for each in before}
    if len(kinds) > 1:
        return texts.BEFORE_VARIES
    if kinds == {EndingKind.failed}:
        return texts.BEFORE_SAME if any(each.failures == head.failures for each in before) else texts.BEFORE_OTHERWISE
    return texts.BEFORE[next(iter(kinds)).value] if kinds else ""


def _sign(message: str) -> str:
    """What tells one error from another: its first line without numbers, addresses and temporary places."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    return _VARIES.sub("0", first)[:_LONGEST_SIGN]
