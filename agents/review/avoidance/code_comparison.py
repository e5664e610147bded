"""Compares the program of a change: what it does not offer, check or report any more, and answers made for tests."""

from collections.abc import Sequence

from agents.review.avoidance.fast_paths import FastPaths
from agents.review.avoidance.hollow_code import HollowCode
from agents.review.avoidance.made_answers import MadeAnswers
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.program_change import ProgramChange
from agents.review.avoidance.removed_features import RemovedFeatures
from domain.review.avoidance import Avoidance


def compare_code(files: Sequence[ChangedFacts], asked: str, tested: frozenset[str]) -> list[Avoidance]:
    """What is given up in the program itself.

    :param tested: literals of tests that the change leaves alone.
    """
    change = ProgramChange(files, asked)
    hollow, made = HollowCode(change), MadeAnswers(change)
    fast = [*FastPaths(files, tested).find()]
    told = {(each.path, each.line) for each in fast}
    return [
        *RemovedFeatures(change).find_removed(),
        *hollow.find_swallowed(),
        *made.find_environment(),
        *made.find_specials(),
        *hollow.find_stubs(),
        *hollow.find_left_out(),
        *hollow.find_emptied(),
        *fast,
        *(each for each in made.find_tables() if (each.path, each.line) not in told),
    ]
