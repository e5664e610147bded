"""What `forge doctor` says of a part, for what a whole installation hardly ever has."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agents.llm.scripted import ScriptedModel
from bot.doctor import Diagnosis, PartState
from bot.doctor.machine import judge_levels
from bot.doctor.services import check_deliveries, check_hook, check_installations, check_model
from domain.github.installations import DeliveryAttempt
from github.payloads.apps import HookShown
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.sandbox import Attack, SandboxLevel

HOOK = "https://forge.example.com/webhook"


@pytest.mark.parametrize(
    ("hook", "condition", "state", "advice"),
    [
        (HookShown(), PartState.broken, "the App has no address", "Set https://YOUR-HOST/webhook"),
        (HookShown(url=HOOK), PartState.broken, f"{HOOK} has no secret, so Forge refuses every delivery", "FORGE_WEB"),
        (HookShown(url=HOOK, secret="********"), PartState.well, HOOK, ""),
        (HookShown(url=HOOK, secret="********", insecure_ssl=0), PartState.well, HOOK, ""),
        (HookShown(url=HOOK, secret="*", insecure_ssl="1"), PartState.note, f"{HOOK}, and GitHub does not", "Turn on"),
        (HookShown(url=HOOK, secret="*", insecure_ssl=1), PartState.note, f"{HOOK}, and GitHub does not", "Turn on"),
    ],
)
def test_the_webhook(hook: HookShown, condition: PartState, state: str, advice: str) -> None:
    _agrees(check_hook(hook), condition, state, advice)


@pytest.mark.parametrize(
    ("statuses", "condition", "state", "advice"),
    [
        ([], PartState.well, "none yet", ""),
        ([202, 500], PartState.well, "1 of the last 2 arrived", ""),
        ([401, 202], PartState.broken, "1 of the last 2 arrived; the newest had a wrong signature", "FORGE_WEBHOOK_S"),
        (
            [503],
            PartState.note,
            "0 of the last 1 arrived; the newest was answered with 503",
            "Check that `forge serve`",
        ),
        ([0], PartState.note, "0 of the last 1 arrived; the newest was not answered", "GitHub can reach"),
    ],
)
def test_deliveries(statuses: Sequence[int], condition: PartState, state: str, advice: str) -> None:
    attempts = [_attempt(number, status) for number, status in enumerate(statuses)]
    _agrees(check_deliveries(attempts), condition, state, advice)


@pytest.mark.parametrize(
    ("accounts", "more", "state"),
    [
        ([], False, "none yet"),
        (["a"], False, "1 (a)"),
        (list("abcdefg"), False, "7 (a, b, c, d, e …)"),
        (list("abcdefg"), True, "7 or more (a, b, c, d, e …)"),
    ],
)
def test_installations(accounts: Sequence[str], more: bool, state: str) -> None:
    assert check_installations(accounts, more).state == state


async def test_a_model_has_its_seconds() -> None:
    slow = replace(ScriptedModel().language_model, seconds=1200)
    found = await check_model(slow, is_wanted=True, ask=False)
    assert "at most 1200 s for an answer" in found.state


def test_the_sandbox() -> None:
    """The best level that works is used; level 1 keeps out pull requests from forks."""
    attacks = tuple(Attack(name, True) for name in ATTACKS)
    fenced = SandboxLevel(3, "bubblewrap", False, "no namespaces")
    limited = SandboxLevel(2, "Landlock", True, attacks=(*attacks[1:], Attack("one", None), Attack("two", False)))
    bare = SandboxLevel(1, "limits", True)
    _agrees(
        judge_levels([bare, limited, fenced], "auto"),
        PartState.well,
        f"level 2 (Landlock) is used and refuses {len(ATTACKS) - 1} of {len(ATTACKS)} attacks",
    )
    _agrees(
        judge_levels([bare], "auto"),
        PartState.broken,
        "so pull requests from forks are not checked",
        "Install bubblewrap where Forge runs",
    )


def _attempt(number: int, status: int) -> DeliveryAttempt:
    return DeliveryAttempt(id=number, guid="g", event="push", at=datetime(2026, 5, 1, tzinfo=UTC), status_code=status)


def _agrees(found: Diagnosis, condition: PartState, state: str, advice: str = "") -> None:
    assert found.condition is condition
    assert state in found.state
    assert advice in found.advice
    assert bool(found.advice) == (condition is not PartState.well)
