"""What is said about what Forge learned: short, with the way back, and nothing in it acts."""

from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from domain.memories import Archived, Memory, MemoryKind, Origin
from domain.review.feedback import FindingFeedback
from domain.review.findings import Finding
from domain.review.review import SuppressedFinding, SuppressionReason
from handlers.slash import read
from messages import memory as memory_texts
from messages import review as review_texts
from messages.memory import Evidence
from safety.suppression import DismissalHistory, find_suppression, rate_confidence
from tests.rendering import find_active
from tests.unit.domain.hostile_findings import BAD, FINDING, HOSTILE, KINDS
from tests.unit.safety.reviews import build_review

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MEMORY = Memory(
    id="01J0000000000000000MEMORY1",
    installation_id=1,
    repository_id=7,
    kind=MemoryKind.semantic,
    content="Tests use a real database.",
    confidence=0.7,
    origin=Origin.person,
    source="a test",
    created_at=NOON,
    used_at=NOON,
)
HOSTILE_MEMORY = MEMORY.model_copy(update={"content": HOSTILE, "archived_at": NOON, "archived_why": Archived.unused})
UNDEFINED = FINDING.model_copy(update={"path": "tools/five.py"})


def past(index: int, finding: Finding = FINDING, path: str = "tools/a.py", said: str = "no") -> FindingFeedback:
    return FindingFeedback(
        id=f"d{index}",
        number=index,
        name="F-AEGTUI",
        rule=finding.rule,
        path=path,
        fingerprint=f"f{index}",
        place="",
        memory_id=f"01J0000000000000000000{index:04}",
        by=said,
        by_id=index,
        reason=said,
        at=NOON,
    )


def build_held(finding: Finding, count: int, elsewhere: int = 0) -> SuppressedFinding:
    dismissed = [past(index, finding, finding.path) for index in range(count)]
    dismissed += [past(100 + index, finding, "lib/a.py") for index in range(elsewhere)]
    found = find_suppression(finding, DismissalHistory(dismissed))
    assert found is not None
    return found


REWORDED = SuppressedFinding(
    finding=UNDEFINED,
    why=SuppressionReason.reworded,
    weight=build_held(UNDEFINED, 4).weight,
    memories=("M-AB12CD",),
    release=1,
)
BAD_HISTORY = DismissalHistory([past(index, BAD, BAD.path, HOSTILE) for index in range(9)])
ALL = {
    "suppressed": memory_texts.render_suppressed(
        [
            build_held(BAD, 9),
            REWORDED,
            *(build_held(UNDEFINED.model_copy(update={"rule": f"r{n}"}), 4) for n in range(20)),
        ]
    ),
    "learned": memory_texts.describe_learned(["M-AB12CD"]),
    "remembered": memory_texts.confirm_remember(HOSTILE_MEMORY, True),
    "known": memory_texts.confirm_remember(HOSTILE_MEMORY, False),
    "off": memory_texts.SWITCHED_OFF,
    "secret": memory_texts.SECRET_REFUSED,
    "forgotten": memory_texts.confirm_forget(HOSTILE_MEMORY, []),
    "forgotten dismissal": memory_texts.confirm_forget(HOSTILE_MEMORY, [past(1, BAD, BAD.path, HOSTILE)] * 9),
    "already": memory_texts.already_forgotten(HOSTILE_MEMORY),
    "no memory": memory_texts.no_such_memory("M-AB12CD"),
    "which": memory_texts.which_memory("M-AB12CD", [HOSTILE_MEMORY] * 3),
    "undismissed": memory_texts.confirm_similar_undismissal(BAD, BAD_HISTORY.dismissed),
    "why": memory_texts.answer_why(
        Evidence(
            BAD,
            weight=rate_confidence(BAD, BAD_HISTORY),
            held=find_suppression(BAD, BAD_HISTORY),
            past=BAD_HISTORY.dismissed,
            memories=[HOSTILE_MEMORY] * 9,
            heads=("a" * 40, "b" * 40),
        )
    ),
    "why exempt": memory_texts.answer_why(Evidence(BAD, weight=rate_confidence(BAD, BAD_HISTORY), exempt=True)),
    "why muted": memory_texts.answer_why(Evidence(BAD, dismissal=past(1, BAD, BAD.path, HOSTILE))),
}


@pytest.mark.parametrize("text", ALL.values(), ids=ALL.keys())
def test_nothing_in_it_acts(text: str) -> None:
    harmless = [*KINDS, "html_block"] if text.startswith("<details>") else KINDS
    assert find_active(text, harmless) == []
    assert read(text) == ()
    assert len(text) < 8_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            memory_texts.render_suppressed(
                [build_held(UNDEFINED, 4), build_held(UNDEFINED, 4), REWORDED, build_held(FINDING, 6, 2)]
            ),
            snapshot(
                "<details><summary>4 findings suppressed because of earlier dismissals</summary>\n\n"
                "- 2 findings of `ruff/F821` in `tools/`: dismissed 4 times there (M-000003). `/forge undismiss "
                "F-AEGTUI` or `/forge forget M-000003` makes them count again.\n"
                "- 1 finding of `ruff/F821` at `tools/five.py:5`: people dismissed the same finding there in "
                "other words "
                "(M-AB12CD). `/forge undismiss F-AEGTUI` or `/forge forget M-AB12CD` makes it count again.\n"
                "- 1 finding of `ruff/F821` at the root: dismissed 6 times there and 2 times elsewhere "
                "(M-000002, M-000003, M-000004, M-000005). `/forge undismiss F-AEGTUI` undoes 4 dismissals, "
                "which makes it count again.\n\n"
                "</details>"
            ),
        ),
        (
            memory_texts.confirm_remember(MEMORY, True),
            snapshot("Learned: Tests use a real database. (M-EMORY1). `/forge forget M-EMORY1` undoes this."),
        ),
        (
            memory_texts.confirm_remember(MEMORY, False),
            snapshot(
                "Already known, now confirmed: Tests use a real database. (M-EMORY1, confidence 0.70). "
                "`/forge forget M-EMORY1` undoes this."
            ),
        ),
        (memory_texts.confirm_forget(MEMORY, []), snapshot("Forgotten (M-EMORY1): Tests use a real database.")),
        (
            memory_texts.confirm_forget(MEMORY, [past(3)]),
            snapshot(
                "Forgotten (M-EMORY1), and the dismissal that taught it is taken back: **F-AEGTUI** of pull "
                "request 3 counts again."
            ),
        ),
        (
            memory_texts.confirm_similar_undismissal(FINDING, [past(3), past(4)]),
            snapshot(
                "**F-AEGTUI** counts again: 2 dismissals of similar findings undone: F-AEGTUI (`ruff/F821` in "
                "`tools/a.py`, by `no`), F-AEGTUI (`ruff/F821` in `tools/a.py`, by `no`)."
            ),
        ),
        (
            memory_texts.answer_why(
                Evidence(
                    FINDING,
                    weight=rate_confidence(FINDING, DismissalHistory([past(1, path="b.py"), past(2), past(3)])),
                    past=[past(1, path="b.py"), past(2), past(3)],
                    memories=[MEMORY],
                    heads=("a" * 40, "b" * 40),
                )
            ),
            snapshot(
                "**F-AEGTUI** · error · correctness · `app.py:5`\n\n"
                "Raised by static analysis, rule "
                "[`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name): Undefined name `missing`. "
                "First found at head `aaaaaaa`, last at `bbbbbbb`.\n\n"
                "Confidence: **0.55** (0.95 as stated, −0.20 for 1 dismissal of its rule in this folder, −0.20 for 2 "
                "dismissals of its rule elsewhere). Below 0.30 it would be suppressed.\n\n"
                "Dismissals of its rule here:\n\n"
                "- F-AEGTUI in `tools/a.py`, pull request 3, by `no` on 2026-05-01: no (M-000003)\n"
                "- F-AEGTUI in `tools/a.py`, pull request 2, by `no` on 2026-05-01: no (M-000002)\n"
                "- F-AEGTUI in `b.py`, pull request 1, by `no` on 2026-05-01: no (M-000001)\n\n"
                "Memories that led to it:\n\n"
                "- M-EMORY1: Tests use a real database."
            ),
        ),
        (
            memory_texts.answer_why(Evidence(FINDING, weight=rate_confidence(FINDING, DismissalHistory()))),
            snapshot(
                "**F-AEGTUI** · error · correctness · `app.py:5`\n\n"
                "Raised by static analysis, rule "
                "[`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name): Undefined name `missing`.\n\n"
                "Confidence: **0.95**. Below 0.30 it would be suppressed.\n\n"
                "No other finding of its rule has been dismissed here."
            ),
        ),
        (
            memory_texts.answer_why(Evidence(FINDING)),
            snapshot(
                "**F-AEGTUI** · error · correctness · `app.py:5`\n\n"
                "Raised by static analysis, rule "
                "[`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name): Undefined name `missing`.\n\n"
                "Forge learns nothing here (`memory.enabled`), so only its own dismissal would mute it."
            ),
        ),
    ],
)
def test_what_is_said(text: str, expected: str) -> None:
    assert text == expected


def test_a_summary_says_it_once_and_only_where_there_is_something() -> None:
    drawn = build_review().model_copy(update={"held": (build_held(UNDEFINED, 4),)})
    said = "suppressed because of earlier dismissals"
    assert review_texts.render_outcome(drawn, [], 0).summary.count(said) == 1
    assert said not in review_texts.render_outcome(build_review(), [], 0).summary
