"""Reads how a reproduction ended, and decides from its endings what it shows of a claim.

A finding must not be called shown by chance: the test has to fail twice and alike on the head, at what it demands and
not at a name or a call that is the test's own mistake, and to pass twice before the change.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agents.testing.earlier_tests.running import Ran
from domain.runs.testing import CaseOutcome
from messages import proofs as texts

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
