"""Decides how each earlier test ended on the new code, from what its runs showed and what became of its text.

A change that hides nothing must not be accused: ``lost`` is said only of what failed each time, passed each time
before, names nothing that is gone, and has nothing in its place that demands as much.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agents.testing.absence import find_lack
from agents.testing.earlier_tests.choice import is_script
from agents.testing.earlier_tests.names import find_deprecation, find_missing, misfits_call, shorten
from agents.testing.earlier_tests.texts import (
    Difference,
    Version,
    checks_less,
    compare,
    demands,
    demands_something,
    deselects_more,
    differs_little,
    evades_more,
    expects_failure_more,
    failed_at_assertion,
    find_failing_line,
    is_rougher,
    keeps_literals,
    measure_likeness,
    names_error,
    quote,
    tell_something,
)
from domain.paths import is_source
from domain.runs.earlier_tests import LONGEST_LINE, EarlierOutcome, EarlierTest, Fate
from domain.runs.testing import CaseOutcome, TestCase
from domain.text.escaping import cut_words

CountedText = tuple[str, str]
"""What follows the number of tests, for one and for several."""
SKIPPED: CountedText = (
    "test that passed before is skipped on the new code.",
    "tests that passed before are skipped on the new code.",
)
FLAKY: CountedText = (
    "test failed and then passed on the same new code, so it tells nothing.",
    "tests failed and then passed on the same new code, so they tell nothing.",
)
FAILED_BEFORE: CountedText = ("test fails without the change, too{}", "tests fail without the change, too{}")
RENUMBERED: CountedText = (
    "row has only a number for a name, and which row has which number changed.",
    "rows have only a number for a name, and which row has which number changed.",
)
NEWER: CountedText = (
    "test is written for a newer PHPUnit at head, and that of here runs none of its file.",
    "tests are written for a newer PHPUnit at head, and that of here runs none of their files.",
)
NOT_RUN: CountedText = (
    "test that passed before did not run on the new code: its run ended early, or it has another name there.",
    "tests that passed before did not run on the new code: their run ended early, or they have other names there.",
)
_INSTALL = (
    "What tests need is installed by `commands.setup` in .github/forge.yml, which reaches a registry with "
    "`commands.network: true`."
)
NOT_LOADED = (
    "{} cannot be loaded on the new code, and nothing that is named there was seen to be gone: {}",
    (
        f"{{}} cannot be loaded on the new code: {{}}, and the code of before did not need it. If the change does, its "
        f"list of dependencies should name it. {_INSTALL}"
    ),
)
"""With files and a cause; with files and what is missing."""
NOT_LOADED_BEFORE = (
    "{} could not be run where Forge runs tests, without the change, too: {}",
    f"{{}} could not be run: {{}}. {_INSTALL}",
)
_WITHOUT_ADDED = "{} could not be run on the code of before, which has no `{}`."
_BESIDE = re.compile(r"Cannot find module '(?P<name>\.{1,2}/[^'\n]{1,100})'")
_BUILT = "`{}` is missing: if built, do so in `commands.setup`"
_OF_PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(?:print|exec)'|multiple exception types must be parenthesized"
    r"|leading zeros in decimal integer literals"
    r"|No module named '(?:urlparse|urllib2|httplib|ConfigParser|c?StringIO|cPickle|__builtin__|Queue|HTMLParser)'"
    r"|(?:\bur[\"']|`|<>|\d[lL]\b|\bexec ).{0,300}\n[E \t^~]{0,300}+\n?[E \t]{0,20}+SyntaxError: invalid"
)
"""What Python 3 says of code for Python 2; where it gives no reason, by the line that it quotes above."""
_IS_PYTHON_2 = "written for Python 2, not 3"
_LOOKED_AT = 20_000  # characters
_ERROR = re.compile(r"error|exception|cannot|could not|undefined|not found|no such", re.IGNORECASE)
_RAISED = re.compile(r"\n[ \t]+[^\n]+\n([\w.]+(?:Error|Exception)\b[^\n]*)\n(?:[^\s][^\n]*\n)*?([^\s][^\n]*)\s*\Z")
"""The end of a traceback whose error says more than one line: the last one often is what matters."""
_WORDS = re.compile(r"[^\W\d_]{2,}")
_LINE_OF_PYTHON = re.compile(r'^[ \t]+File "[^\n]*\n(?:[ \t]+[^\n]*\n)+', re.MULTILINE)
"""A frame of a traceback with the line of code it quotes, which may name an error."""
_FRAME = re.compile(
    r"\s*(?:at |File \"|from /|#\d+ |FAIL\t|make(?:\[\d+\])?: )|.*:\d+:in [`'][^']*'$|\s*[\w./\\-]+:\d+(?::\d+)?:?$"
    r"|.*\(\S+:\d+:\d+\)$"
)


OUTPUT = 2_000
"""Characters of what a test printed that are kept."""
_WORD = re.compile(r"\w{5,}")
_FRAME_LINE = re.compile(r"(?:^> +|^\S+:\d+: in .+\n +)(.+)$", re.MULTILINE)
_FEW = 6  # lines of a file that tests share
_SURELY_ALIKE = 0.8  # of two tests with different names
_TELLING = 5  # characters of a line that an output may quote by chance


@dataclass(frozen=True)
class SharedChange:
    """How a change touches a file that tests share.

    :param removed: its lines; :param added: those in their place.
    """

    path: str
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def is_less(self) -> bool:
        """Whether it checks less than it did, or keeps tests from failing."""
        return is_source(self.path) and (checks_less(self.removed, self.added) or evades_more(self.removed, self.added))

    @property
    def is_rougher(self) -> bool:
        """Whether it takes the same values with a tolerance that it did not have, or another one."""
        return is_source(self.path) and is_rougher(self.removed, self.added)

    @property
    def deselects(self) -> bool:
        """Whether it leaves tests out that it did not leave out before."""
        return deselects_more(self.removed, self.added)

    def names(self, path: str, text: str) -> bool:
        """Whether what is new in it names a file of tests, or a test in it."""
        before = {word for line in self.removed for word in _WORD.findall(line)}
        new = {word for line in self.added for word in _WORD.findall(line)} - before
        stem = path.rpartition("/")[2].partition(".")[0]
        return stem in new or any("test" in word.lower() and re.search(rf"\b{word}\b", text) for word in new)


@dataclass(frozen=True)
class Culprits:
    """What the program would need to have as it was, so that a test passes.

    :param places: for people, the largest first.
    :param is_taken: whether its lines were only taken away.
    :param contrary: what a new test demands that needs them as they are now, after its name; empty if none does.
    """

    places: tuple[str, ...]
    is_taken: bool = False
    contrary: tuple[str, ...] = ()

    @property
    def are_meant(self) -> bool:
        """Whether the change shows that they are as they are on purpose."""
        return self.is_taken or bool(self.contrary)


@dataclass(frozen=True)
class TestEvidence:
    """What is known of one earlier test that did not pass on the new code.

    :param id: of the test.
    :param case: how it ended on the new code; None if it was not run.
    :param again: how it ended there the second time.
    :param passed_before: whether it passed each time on the code it was written for.
    :param failed_before: whether it failed each time there.
    :param loading: what its file printed, where it could not be loaded.
    :param before: its text; :param after: the text of what is in its place; None if nothing is.
    :param now: how that ended at head.
    :param is_blind: whether that passes on the program as it was, too: it cannot tell the two apart.
    :param is_anothers: whether that may as well be in the place of another earlier test.
    :param is_untried: whether that could not be run there, so that nobody knows.
    :param is_left_out: whether others of the rows beside it are there at head, and it is not.
    :param has_fewer_rows: whether its row has only a number for a name, and its test has fewer rows at head.
    :param unknowable: why nothing can be known of it; None if something can.
    :param is_unreached: whether its file is elsewhere now, where no run of all tests comes.
    :param is_hushed: whether what failed at head did so in a run that ended as if nothing had failed.
    :param is_broken: whether its file cannot be loaded as it stands at head, either.
    :param gone: what the test names and the program has no more.
    :param is_named_gone: whether its own error says that this is missing.
    :param rest: how its own file is touched outside of tests.
    :param shared: what else of the tests' side is touched.
    :param asking: how the program asks anew whether a test runs it; ``case`` is of a copy that finds none.
    :param culprits: what the program would need to have as it was; None if nobody looked, or it was not found.
    """

    id: str
    path: str
    case: TestCase | None = None
    again: TestCase | None = None
    passed_before: bool = False
    failed_before: bool = False
    loading: str = ""
    before: Version | None = None
    after: Version | None = None
    now: Sequence[TestCase] = ()
    is_blind: bool = False
    is_anothers: bool = False
    is_untried: bool = False
    is_left_out: bool = False
    has_fewer_rows: bool = False
    unknowable: CountedText | None = None
    is_unreached: bool = False
    is_hushed: bool = False
    is_broken: bool = False
    gone: tuple[str, ...] = ()
    is_named_gone: bool = False
    rest: SharedChange | None = None
    shared: Sequence[SharedChange] = ()
    asking: Sequence[SharedChange] = ()
    culprits: Culprits | None = None

    @property
    def is_guessed(self) -> bool:
        """Whether what is in its place has another name and another text, so that it may be of something else."""
        if self.before is None or self.after is None or self.before.test.name == self.after.test.name:
            return False
        return measure_likeness(self.before, self.after) <= _SURELY_ALIKE

    @property
    def output(self) -> str:
        """What it printed on the new code."""
        if self.case is None:
            return self.loading
        return self.case.details or self.case.message or self.loading


def judge(found: TestEvidence) -> EarlierTest:
    """How one test ended, and what became of it."""
    line = None if found.before is None else find_failing_line(found.before, found.output)
    fate = _find_fate(found)
    outcome, difference = _decide(found, fate, line)
    after = found.after
    if found.is_anothers or (found.is_blind and found.is_guessed):  # no run shows that this is in its place
        fate, difference, after = Fate.removed, replace(difference, now=()), None
    demanded = _list_demanded(found, fate, line, outcome, difference)
    culprits = found.culprits or Culprits(())
    if culprits.are_meant:
        kept = () if fate is Fate.removed else difference.now
        outcome, difference = EarlierOutcome.changed, replace(difference, now=culprits.contrary or kept)
    return EarlierTest(
        id=found.id,
        path=found.path,
        line=line or (found.before.test.start if found.before else found.case.line if found.case else None),
        outcome=outcome,
        fate=fate,
        demanded=cut_lines(demanded),
        now=cut_lines(difference.now),
        shared_path=difference.path or None,
        is_blind=found.is_blind,
        culprits=culprits.places,
        output=found.output[-OUTPUT:],
        names=found.gone if outcome is EarlierOutcome.gone or found.is_broken else (),
        head_path=None if after is None else after.path,
        head_line=None if after is None else after.test.start,
    )


def _list_demanded(
    found: TestEvidence, fate: Fate, line: int | None, outcome: EarlierOutcome, difference: Difference
) -> tuple[str, ...]:
    """The lines whose demand changed, of what is in another place now; else those that demanded something."""
    if outcome is EarlierOutcome.changed and fate is not Fate.removed:
        return difference.demanded
    changed = () if line and not difference.path else difference.demanded
    return changed or (quote(found.before, line) if found.before else ())


def cut_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that say something, short enough to be shown."""
    return tuple(line[:LONGEST_LINE] for line in lines if line.strip())


def may_be_meant(found: TestEvidence) -> bool:
    """Whether a test is lost, and all that its change did was to demand it no more.

    What newly catches, replaces, skips, expects the failure or allows a tolerance hides something in any case.
    """
    fate = _find_fate(found)
    line = None if found.before is None else find_failing_line(found.before, found.output)
    if fate in _NOT_RUN - {Fate.removed} or _decide(found, fate, line)[0] is not EarlierOutcome.lost:
        return False
    if fate is Fate.removed:
        return True
    around = [each for each in (found.rest, *found.shared) if each is not None and not is_script(each.path)]
    pairs = [(each.removed, each.added) for each in around]
    if found.before is not None and found.after is not None:
        pairs.append((found.before.lines, found.after.lines))
    return not (_expects_its_failure(found) or any(evades_more(*pair) or is_rougher(*pair) for pair in pairs))


def is_fooled(found: TestEvidence) -> bool:
    """Whether a test that failed before passes now, and would not if the program did not know of it."""
    is_red = found.failed_before and all(each is not None and each.outcome.is_bad for each in (found.case, found.again))
    is_green = bool(found.now) and all(case.outcome is CaseOutcome.passed for case in found.now)
    return bool(found.asking) and is_red and is_green


def _find_fate(found: TestEvidence) -> Fate:
    if is_fooled(found):
        return Fate.noticed
    if found.after is None and not found.now:
        return Fate.removed
    if found.now and all(case.outcome is CaseOutcome.skipped for case in found.now):
        return Fate.skipped
    if not found.now or found.is_unreached:
        return Fate.unreached
    if found.is_hushed:
        return Fate.hushed
    return Fate.surroundings if _is_same(found) or found.before is None else Fate.rewritten


_NOT_RUN = frozenset({Fate.removed, Fate.unreached, Fate.hushed, Fate.skipped})


def _is_same(found: TestEvidence) -> bool:
    return found.before is not None and found.after is not None and found.before.code == found.after.code


def _decide(found: TestEvidence, fate: Fate, line: int | None) -> tuple[EarlierOutcome, Difference]:
    none = Difference()
    if fate is Fate.noticed:
        told = max(found.asking, key=lambda each: _rate_by_output(found, each))
        return EarlierOutcome.lost, Difference(told.removed[:6], told.added[:6], True, told.path)
    if not found.passed_before or found.unknowable:
        return EarlierOutcome.unknown, none
    if found.case is None or not found.case.outcome.is_bad or (found.is_broken and found.gone):
        return _judge_unloaded(found), none
    if found.again is not None and not found.again.outcome.is_bad:
        return EarlierOutcome.unknown, none
    if any(case.outcome.is_bad for case in found.now):
        is_hidden = (
            found.is_unreached or found.is_hushed or (_is_same(found) and any(each.deselects for each in found.shared))
        )
        return (EarlierOutcome.lost if is_hidden else EarlierOutcome.open), none
    difference = none
    if found.before is not None and found.after is not None:
        difference = compare(found.before, found.after, line, found.output)
    if found.gone and (fate in _NOT_RUN or found.is_named_gone):
        is_other = (
            found.before is not None and found.after is not None and not keeps_literals(found.before, found.after)
        )
        is_rewritten = fate is Fate.rewritten and is_other
        return (EarlierOutcome.changed, difference) if is_rewritten else (EarlierOutcome.gone, none)
    if warning := find_deprecation(found.output):  # the program says itself that this is to go
        return EarlierOutcome.changed, replace(difference, now=difference.now or (warning,))
    match fate:
        case Fate.removed | Fate.unreached | Fate.hushed | Fate.skipped:
            return EarlierOutcome.lost, none
        case Fate.surroundings:
            return _judge_surroundings(found)
        case Fate.rewritten:
            is_lost = (difference.is_less and _shows_no_change(found)) or _expects_its_failure(found)
            is_lost = is_lost or found.has_fewer_rows
            is_lost = is_lost or _demands_nothing_more(found) or _is_held_roughly(found, difference)
            return _lose_if(found, is_lost), difference


def _judge_unloaded(found: TestEvidence) -> EarlierOutcome:
    if found.is_broken and found.gone:
        return EarlierOutcome.open
    return EarlierOutcome.gone if found.gone and found.loading else EarlierOutcome.unknown


def _lose_if(found: TestEvidence, is_lost: bool) -> EarlierOutcome:
    return EarlierOutcome.lost if is_lost and not misfits_call(found.output) else EarlierOutcome.changed


def _shows_no_change(found: TestEvidence) -> bool:
    """Whether what stands in its place may be met by any program: that of before meets it, too, or nobody knows.

    What newly demands the very error that the program ends with now demands something of it.
    """
    if found.before is not None and found.after is not None and names_error(found.before, found.after, found.output):
        return False
    return found.is_blind or found.is_untried


def _demands_nothing_more(found: TestEvidence) -> bool:
    """Whether what stands in its place cannot fail any more.

    Where its own text never demanded anything, a helper does: what tells the programs apart demands something.
    """
    if found.after is None or found.before is None or not demands_something(found.before):
        return found.is_blind and (found.after is None or not demands_something(found.after))
    return not demands_something(found.after)


def _expects_its_failure(found: TestEvidence) -> bool:
    """Whether what stands in its place passes because the same assertion fails, as ``should_panic`` has it."""
    pairs = [(each.removed, each.added) for each in (found.rest, *found.shared) if each is not None]
    if found.before is not None and found.after is not None:
        pairs.append((found.before.lines, found.after.lines))
    return failed_at_assertion(found.output) and any(expects_failure_more(*pair) for pair in pairs)


def _is_held_roughly(found: TestEvidence, difference: Difference) -> bool:
    """Whether the value that was demanded stays, the code of before meets it, and the new one only comes near."""
    if not found.is_blind or found.before is None or found.after is None:
        return False
    return is_rougher(found.before.code, found.after.code) and not differs_little(difference.demanded, found.output)


def _judge_surroundings(found: TestEvidence) -> tuple[EarlierOutcome, Difference]:
    """Where the test itself is the same, what is around it decides whether it checks less.

    What the code of before meets, too, is asked about where others share it, or where it demanded something; other
    input beside the test is as in its own text, and so is a helper that fails by itself.
    """
    shared = [*([found.rest] if found.rest is not None else []), *found.shared]
    shared = [each for each in shared if not is_script(each.path)]
    less = [each for each in shared if each.is_less]
    told = less or [each for each in shared if each.removed or each.added]
    chosen = max(told, key=lambda each: _rate_by_output(found, each), default=None)
    difference = Difference()
    if chosen is not None:
        path = "" if chosen.path == found.path else chosen.path
        demanded, now = (_keep_told(each, found.output) for each in (chosen.removed, chosen.added))
        difference = Difference(demanded, now, bool(less), path)
    is_beside = bool(told) and all(each is found.rest for each in told)
    is_shorter = found.is_left_out and not any(each.added for each in told)
    is_judging = any(demands(each.removed) or each.is_rougher for each in told)
    is_weak = found.is_blind and (not is_beside or is_shorter or is_judging)
    is_weak = is_weak and not (chosen is not None and _fails_by_itself(found, chosen))
    is_lost = bool(less) or is_weak or found.has_fewer_rows or _expects_its_failure(found)
    return _lose_if(found, is_lost), difference


def _keep_told(lines: Sequence[str], output: str) -> tuple[str, ...]:
    """Of some lines that tests share, all if they are few, else those that an output quotes."""
    kept = lines if len(lines) <= _FEW else [line for line in lines if len(line) > _TELLING and line in output]
    return tell_something(kept)


def _fails_by_itself(found: TestEvidence, shared: SharedChange) -> bool:
    """Whether an old line of a helper failed that demands nothing: it uses the program as it was, as a caller would.

    pytest shows the line of each frame behind ``>``, or below ``path:line: in function``.
    """
    if failed_at_assertion(found.output) or demands(shared.removed):
        return False
    return not {line.strip() for line in shared.removed}.isdisjoint(map(str.strip, _FRAME_LINE.findall(found.output)))


def _rate_by_output(found: TestEvidence, shared: SharedChange) -> tuple[bool, float]:
    """How much of what became of a shared file an output tells: its name, and the share of its lines.

    The file of the test itself is named wherever it fails.
    """
    lines = [line for line in shared.removed if len(line) > _TELLING]
    is_named = shared.path != found.path and _names_file(found.output, shared.path)
    return is_named, sum(line in found.output for line in lines) / (len(lines) or 1)


def _names_file(output: str, path: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(path.rpartition('/')[2])}(?!\w)", output) is not None


_ORDER = tuple(EarlierOutcome(name) for name in ("lost", "changed", "open", "gone", "unknown", "holds"))


def sort_by_weight(tests: Sequence[EarlierTest]) -> list[EarlierTest]:
    """The most telling first."""
    return sorted(tests, key=lambda each: (_ORDER.index(each.outcome), each.path, each.line or 0, each.id))


def list_causes(texts: tuple[str, str], loading: Mapping[str, str], added: Collection[str] = ()) -> list[str]:
    """One line for each cause, however many files it keeps from being loaded.

    :param texts: with a place for the files and one for the cause; the same for something that is missing.
    :param loading: path → what a file printed that could not be loaded.
    :param added: paths that the change adds; what misses one tells nothing of the machine.
    """
    causes: defaultdict[str, list[str]] = defaultdict(list)
    for path, output in loading.items():
        causes[_IS_PYTHON_2 if _OF_PYTHON_2.search(output[-_LOOKED_AT:]) else find_cause(output)].append(path)
    return [_explain_cause(texts, paths, cause, added) for cause, paths in causes.items()]


def find_cause(output: str) -> str:
    """The last line that names an error, with the one it announces; else the last of several words.

    Frames and sums tell nobody anything.
    """
    if raised := _RAISED.search(output):
        return cut_words(f"{raised[1]}: {raised[2]}", 200)
    told = _LINE_OF_PYTHON.sub("", output)
    lines = [line.removeprefix("E ") for line in told.split("\n") if line[:1] not in set("=!0123456789")]
    lines = [line.strip() for line in lines if line.strip() and not _FRAME.match(line)]
    announced = [f"{line} {after}" if line.endswith(":") else line for line, after in pairwise([*lines, ""])]
    named = [line for line in announced if _ERROR.search(line)]
    words = [line for line in lines if len(_WORDS.findall(line)) > 1]
    return cut_words(next(reversed(named or words), "no reason is given"), 200)


def _explain_cause(texts: tuple[str, str], paths: Sequence[str], cause: str, added: Collection[str]) -> str:
    more = len(paths) - 1
    files = f"{paths[0]} and {more} {'more file' if more == 1 else 'more files'}" if more else paths[0]
    lack, missing = find_lack(cause), {*map(shorten, find_missing(cause))}
    if own := next((path for path in added if shorten(path) in missing), ""):
        return _WITHOUT_ADDED.format(files, own)
    if texts is NOT_LOADED_BEFORE and (built := _BESIDE.search(cause)):
        cause = _BUILT.format(built["name"])
    return texts[1].format(files, lack) if lack else texts[0].format(files, cause)
