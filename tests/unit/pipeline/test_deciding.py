"""An answer is about the question that people could see when they gave it."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.commands import Sender
from domain.config.configuration import Configuration
from domain.gates import Choice, Gate, GateState
from domain.runs.run import Phase, RepositoryRef
from pipeline.gates.decide import GateAnswer, find_stale_reason
from safety.gate_requests import build_request

ASKED = datetime(2026, 5, 1, 12, 0, 0, 500_000, tzinfo=UTC)
HEAD = "b" * 40
GATE = Gate(
    id="01J00000000000000000000000",
    run_id="r",
    repository=RepositoryRef(installation_id=3, id=7, owner="octo-org", name="shop"),
    number=1,
    head_sha=HEAD,
    request=build_request("human_review", Phase.review, "s", "", (), Configuration()),
    state=GateState.waiting,
    asked_at=ASKED,
    until=ASKED + timedelta(days=1),
)


def _at(seconds: float) -> datetime:
    return ASKED.replace(microsecond=0) + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("written", "shown", "head", "is_stale"),
    [
        (_at(10), None, None, True),  # asked, and on GitHub the question of before still stands
        (_at(10), _at(3600), None, True),
        (_at(3600), _at(3600.4), None, False),  # GitHub cuts the moment of writing to the second
        (_at(3700), _at(3600), None, False),
        (_at(-5), _at(1), None, True),
        (_at(10), None, HEAD[:7], False),  # the head that is named is the one that is asked about
        (_at(10), _at(1), "a" * 7, True),
        (None, None, HEAD, False),  # a button in the check of this head
        (None, None, "a" * 40, True),
    ],
)
def test_an_answer_counts_for_what_was_shown(
    written: datetime | None, shown: datetime | None, head: str | None, is_stale: bool
) -> None:
    saying = GateAnswer(Sender(id=1, login="carol"), Choice.approve, seen_head=head, written_at=written)
    assert (find_stale_reason(GATE, saying, shown) is not None) == is_stale
