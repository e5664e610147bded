"""Compares the commands and events by which tests and checks run: which are gone, and which run less."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.review.avoidance.commands import CHECKS, TESTS
from agents.review.avoidance.facts import CommandFact
from agents.review.avoidance.lines import is_workflow
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.pairs import ChangedFacts
from domain.review.avoidance import Avoidance, AvoidanceKind

_KINDS = {TESTS: AvoidanceKind.test_deselected, CHECKS: AvoidanceKind.failure_ignored}
_ONE_FILE = re.compile(r"(?:^|[\s/])[\w./-]+\.(?:py|[cm]?[jt]sx?|rb|bats|php|sh|rs)(?=$|[\s\"':])")
_PART = re.compile(r"(?:^|\s)(?:--lib|--bins?|--doc|--test|--project|-p|--package|--filter|--grep|-g)(?=$|[\s=])")


def compare_commands(files: Sequence[ChangedFacts]) -> list[Avoidance]:
    """What does not run any more, or only in part."""
    return [
        *(each for family in (TESTS, CHECKS) for each in _Family(files, family).find_lost()),
        *(each for file in files if not file.is_gone for each in _find_narrowed(file)),
        *(each for file in files if not file.is_gone for each in _find_untriggered(file)),
    ]


@dataclass(frozen=True)
class _Family:
    """The commands of a change that are for the same."""

    files: Sequence[ChangedFacts]
    family: str

    def find_lost(self) -> Iterator[Avoidance]:
        """Commands that are gone, if no other one came in their place."""
        before, after = self._list(old=True), self._list(old=False)
        lost = subtract(before, after, lambda each: each[1].tool)
        gained = subtract(after, before, lambda each: each[1].tool)
        if len(gained) >= len(lost):
            return
        tools = {each.tool for _, each in after}
        for file, each in lost:
            yield Avoidance(
                kind=_KINDS[self.family],
                path=file.path,
                what=f"A command that runs {self.family} is gone: `{_show(each)}`.",
                confidence=self._judge(file, each.tool in tools or bool(gained)),
                name=f"{each.tool}: {each.text[:60]}",
            )

    def _judge(self, file: ChangedFacts, is_replaced: bool) -> float:
        """How sure it is that nothing else does it: another system may, of which the change shows nothing."""
        is_elsewhere = is_replaced or (file.is_gone and not is_workflow(file.path))
        stays = any(each.family == self.family for each in file.new.commands)
        return 0.55 if is_elsewhere else 0.75 if not stays or self.family == CHECKS else 0.7

    def _list(self, *, old: bool) -> list[tuple[ChangedFacts, CommandFact]]:
        return [
            (file, each)
            for file in self.files
            for each in (file.old if old else file.new).commands
            if each.family == self.family
        ]


def _find_narrowed(file: ChangedFacts) -> Iterator[Avoidance]:
    """Commands that name a part of the tests now, where they ran all of them."""
    lost = subtract(file.old.commands, file.new.commands, lambda each: each.text)
    gained = subtract(file.new.commands, file.old.commands, lambda each: each.text)
    for new in gained:
        same = [old for old in lost if old.tool == new.tool]
        if new.family != TESTS or len(same) != 1 or sum(each.tool == new.tool for each in gained) != 1:
            continue
        confidence = _judge_narrowed(same[0].text, new.text)
        if confidence:
            yield Avoidance(
                kind=AvoidanceKind.test_deselected,
                path=file.path,
                line=new.line,
                what=f"Only a part of the tests runs: `{_show(same[0])}` became `{_show(new)}`.",
                confidence=confidence,
                name=f"{new.tool}: {new.text[:60]}",
            )


def _judge_narrowed(before: str, after: str) -> float:
    if ("..." in before and "..." not in after) or (_ONE_FILE.search(after) and not _ONE_FILE.search(before)):
        return 0.75
    return 0.6 if _PART.search(after) and not _PART.search(before) else 0.0


def _find_untriggered(file: ChangedFacts) -> Iterator[Avoidance]:
    """Workflows with tests that fewer events start."""
    gone = file.old.triggers - file.new.triggers
    if gone and any(each.family == TESTS for each in file.new.commands):
        shown = ", ".join(f"`{each}`" for each in sorted(gone))
        yield Avoidance(
            kind=AvoidanceKind.test_deselected,
            path=file.path,
            what=f"The workflow that runs tests does not start at {shown} any more.",
            confidence=0.55 if file.new.triggers else 0.8,
            name=f"on: {shown}",
        )


def _show(command: CommandFact) -> str:
    return command.text.replace("`", "'")[:80]
