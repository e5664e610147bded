"""What a model adds to a review, and what it costs and may not do."""

from pydantic import JsonValue

from agents.scripted import Fails, ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story

FILLER = "".join(f"VALUE_{number} = {number}\n" for number in range(120))
PAY = FILLER + "\n\ndef total(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n"
LINE = PAY.splitlines().index("    return sum(prices) / len(prices)") + 1


def claim(line: int = LINE, quote: str = "return sum(prices) / len(prices)") -> dict[str, JsonValue]:
    """A finding as the model hands it in."""
    return {
        "rule": "model/logic-error",
        "path": "billing/pay.py",
        "line": line,
        "end_line": line,
        "quote": quote,
        "severity": "error",
        "confidence": 0.9,
        "message": "An empty list divides by zero. Return 0 for it, or refuse it.",
    }


def finds(model: ScriptedModel) -> None:
    """Let the model find the division, and stand by it when it looks again."""
    model.when("len(prices)", {"findings": [claim()]})
    model.when("== candidates", {"verdicts": [{"number": 1, "confirmed": True, "confidence": 0.9}]})


async def _opened(told: Story, author: str = "alice") -> tuple[Repository, User, PullRequest, str]:
    repository, alice = told.repository({"README.md": "# Shop\n"})
    head = await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Add totals")
    await told.rest()
    return repository, alice, pull, head


async def test_model_finds_what_tools_do_not(read: Story, model: ScriptedModel) -> None:
    finds(model)
    repository, _, pull, head = await _opened(read)
    [comment] = read.comments(pull)
    assert (comment.path, comment.line) == ("billing/pay.py", LINE)
    assert "An empty list divides by zero." in comment.body
    check = read.check(repository, head)
    assert check.conclusion == "failure"
    assert "3 · model" in (check.summary or "")
    assert "tokens" in (check.summary or "")
    assert len(model.calls) == 2


async def test_low_risk_asks_no_model(read: Story, model: ScriptedModel) -> None:
    repository, alice = read.repository({"app.py": "VALUE = 1\n"})
    head = await alice.push(repository, "feature", {"app.py": "VALUE = 2\n"}, base="main")
    await alice.open_pull_request(repository, "feature")
    await read.rest()
    assert read.check(repository, head).conclusion == "success"
    assert model.calls == []


async def test_missing_key_asks_for_a_person(told: Story) -> None:
    repository, _, pull, head = await _opened(told)
    check = told.check(repository, head)
    assert check.conclusion == "action_required"
    assert "ANTHROPIC_API_KEY is not set" in (check.summary or "")
    assert told.comments(pull) == []


async def test_failing_model_is_never_an_approval(read: Story, model: ScriptedModel) -> None:
    model.when("len(prices)", Fails(400))
    repository, _, pull, head = await _opened(read)
    assert read.check(repository, head).conclusion == "action_required"
    assert read.comments(pull) == []


async def test_push_asks_only_about_what_is_new(read: Story, model: ScriptedModel) -> None:
    finds(model)
    repository, alice, pull, _ = await _opened(read)
    asked = len(model.calls)
    for number in range(3):
        await alice.push(repository, "feature", {f"billing/more_{number}.py": FILLER})
        await read.rest()
    assert len(read.comments(pull)) == 1
    assert all("len(prices)" not in call.content for call in model.calls[asked:])


async def test_strangers_head_waits_for_an_ok(read: Story, model: ScriptedModel) -> None:
    finds(model)
    repository, alice = read.repository({"README.md": "# Shop\n"})
    bob = read.github.user("bob")
    fork = await bob.fork(repository)
    head = await bob.push(fork, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await bob.open_pull_request(repository, "feature", head_repo=fork)
    await read.rest()
    check = read.check(repository, head)
    assert check.conclusion == "action_required"
    assert "stranger's head" in (check.summary or "")
    assert model.calls == []

    await alice.comment(pull, "/forge review")
    await read.rest()
    assert len(read.answers(pull)) == 1
    assert len(read.comments(pull)) == 1
    assert read.check(repository, head).conclusion == "failure"


async def test_never_send(read: Story, model: ScriptedModel) -> None:
    repository, alice = read.repository({".github/forge.yml": "review: {never_send: ['billing/**']}\n"})
    head = await alice.push(repository, "feature", {"billing/pay.py": PAY, "auth/x.py": FILLER}, base="main")
    await alice.open_pull_request(repository, "feature")
    await read.rest()
    assert all("len(prices)" not in call.content for call in model.calls)
    assert "billing/pay.py" in (read.check(repository, head).summary or "")
