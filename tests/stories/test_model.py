"""What a model adds to a review, and what it costs and may not do."""

from decimal import Decimal
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.models import Models
from agents.llm.scripted import Fails, ScriptedModel
from domain.money import FixedPrice
from simulator import User
from simulator.state import PullRequest, Repository
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.world.model_findings import DIVISION, FILLER, LINE, PAY, claim, find_division


async def _open_pull_request(story: Story, author: str = "alice") -> tuple[Repository, User, PullRequest, str]:
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    pull, head = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    return repository, alice, pull, head


async def test_what_a_tool_calls_a_warning_blocks_where_the_model_says_who_meets_it(
    story: Story, model: ScriptedModel
) -> None:
    """A tool knows the pattern, and not that requests reach it. It is said once, in the model's words."""
    line = "ENV = Environment(autoescape=False)"
    found: dict[str, JsonValue] = {
        **claim(line=3, quote=line),
        "rule": "model/security",
        "path": "shop/pages.py",
        "harm": "security_hole",
        "message": "What a visitor sends becomes part of the page. Leave autoescape on.",
    }
    model.when("autoescape=False", {"findings": [found]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": line}]})
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    pages = f"from jinja2 import Environment\n\n{line}\n"
    pull, head = await story.propose(repository, alice, {"shop/pages.py": pages})
    assert "shop/pages.py:3 ruff/S701 warning\n" in model.calls[0].content
    assert story.check(repository, head).conclusion == "failure"
    [comment] = story.comments(pull)
    [said, tool] = story.finding_names(pull)
    assert comment.body == snapshot("""\
🔴 **Error** · security

What a visitor sends becomes part of the page. Leave autoescape on.

<sub>F-6X5ZUO · `model/security`</sub>

<sub>F-4UT5PJ · also [`ruff/S701`](https://docs.astral.sh/ruff/rules/jinja2-autoescape-false) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why (with an F-ID: only that one)</sub>\
""")
    summary = story.check(repository, head).summary or ""
    [row] = [line for line in summary.split("\n") if "shop/pages.py:3` 💬" in line]
    assert [part in row for part in (said, tool, "S701")] == [True, True, True]
    assert [part in summary.replace(row, "") for part in (said, tool, "S701")] == [True, False, False]


async def test_the_second_look_hears_nothing_from_the_author(story: Story, model: ScriptedModel) -> None:
    """Else whoever wants a finding refuted would only have to say so."""
    find_division(model)
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    await alice.push(repository, "feature", {"billing/pay.py": PAY}, "Never empty", base="main")
    words = "No cart is empty, so that is fine."
    pull = await story.after(alice.open_pull_request(repository, "feature", title="Add sure totals", body=words))
    first, second = [call.content for call in model.calls]
    said = ("Add sure totals", "No cart is empty", "Never empty")
    assert [each in first for each in said] == [True, True, False]
    assert "== candidates" in second
    assert not any(each in second for each in said)
    story.pass_over(pull)


async def test_a_small_change_of_source_is_read_and_so_is_a_change_of_documents(
    story: Story, model: ScriptedModel
) -> None:
    repository, alice = story.repository({"app.py": "VALUE = 1\n", "README.md": "# Shop\n"})
    _, head = await story.propose(repository, alice, {"README.md": "# Store\n"}, "words")
    assert story.check(repository, head).conclusion == "success"
    assert ["# Store" in call.content for call in model.calls] == [True]

    _, head = await story.propose(repository, alice, {"app.py": "VALUE = 2\n"})
    assert story.check(repository, head).conclusion == "success"
    [_, call] = model.calls
    assert "VALUE = 2" in call.content


async def test_the_model_sees_who_calls_what_changed_and_no_other_of_the_name(
    story: Story, model: ScriptedModel
) -> None:
    caller = "from till import total\n\n\ndef pay(cart):\n    return total(cart) {sign} 1\n"
    unchanged = {
        ".github/forge.yml": "review: {never_send: ['secret/**']}\n",
        "shop/pay.py": caller.format(sign="+"),
        "secret/pay.py": caller.format(sign="*"),
        "shop/other.py": "def list_totals(total):\n    return total([])\n",
        "deploy.yml": "total: 1\n",
    }
    till = "def total(cart):\n    return sum(cart)\n"
    repository, alice = story.repository({**unchanged, "till.py": till})
    await story.propose(repository, alice, {"till.py": till.replace("cart)", "cart, rate)", 1)})
    [call] = model.calls
    assert [line for line in call.content.split("\n") if "(unchanged" in line] == [
        "== shop/pay.py (unchanged, calls total, which changed)"
    ]
    assert "5     return total(cart) + 1" in call.content


async def test_push_asks_only_about_what_is_new(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    repository, alice, pull, _ = await _open_pull_request(story)
    asked = len(model.calls)
    for number in range(3):
        await story.after(alice.push(repository, "feature", {f"billing/more_{number}.py": FILLER}))
    assert len(story.comments(pull)) == 1
    assert all("len(prices)" not in call.content for call in model.calls[asked:])


@pytest.mark.parametrize("pattern", ["billing/**", "{billing,secrets}/*.{py,key}", "billin[a-g]/*"])
async def test_never_send(pattern: str, story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({".github/forge.yml": f"review: {{never_send: ['{pattern}']}}\n"})
    _, head = await story.propose(repository, alice, {"billing/pay.py": PAY, "auth/x.py": FILLER})
    assert all("len(prices)" not in call.content for call in model.calls)
    assert "billing/pay.py" in (story.check(repository, head).summary or "")


@pytest.mark.parametrize("model", [FixedPrice(Decimal(10_000), Decimal(10_000))], indirect=True)
async def test_call_that_does_not_fit_the_budget_is_not_made(story: Story, model: ScriptedModel) -> None:
    repository, alice, pull, head = await _open_pull_request(story)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", "Waiting for a person at cost_overrun")
    assert story.gates(pull) == ["cost_overrun"]
    assert story.comments(pull) == []
    assert model.calls == []

    story.clock.move(seconds=5)
    await story.after(alice.comment(pull, "/forge accept"))
    assert story.answers(pull) == []  # the question shows it
    assert "The model was not asked" in (story.check(repository, head).summary or "")
    assert story.gates(pull) == ["human_review"]
    assert model.calls == []


@pytest.mark.parametrize("model", [FixedPrice(Decimal(50), Decimal(50))], indirect=True)
async def test_a_budget_that_runs_short_is_used_for_the_riskiest_files(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    files = {f"shop/part_{n}.py": FILLER * 8 for n in range(6)} | {"zone/auth/login.py": FILLER * 8}
    pull, head = await story.propose(repository, alice, files)
    check = story.check(repository, head)
    assert check.conclusion == "action_required"
    assert story.gates(pull) == ["human_review"]
    read = len(model.calls)
    assert 0 < read < 5
    assert "== zone/auth/login.py" in model.calls[0].content
    assert "shop/part_5.py: no budget was left for it after riskier files" in (check.summary or "").replace("`", "")
    assert "zone/auth/login.py: no budget" not in (check.summary or "").replace("`", "")

    story.clock.move(seconds=5)
    await story.after(alice.comment(pull, "/forge review full"))
    assert story.gates(pull) == ["cost_overrun"]
    assert "from scratch" in story.answers(pull)[0].body


async def test_once_the_fallback_answered_it_reads_the_rest(tmp_path: Path) -> None:
    """Calls that were refused use up none of those that a phase may make."""
    refused, other = ScriptedModel(name="fast"), ScriptedModel(name="strong")
    refused.when("", Fails(404))
    models = Models.pair(other.language_model, refused.language_model)
    async with open_story(create_database("sqlite", tmp_path), tmp_path, models=models) as story:
        repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
        files = {f"shop/part_{number}.py": FILLER * 8 for number in range(7)}
        _, head = await story.propose(repository, alice, files)
        check = story.check(repository, head)
        assert check.conclusion == "success", check.summary
        told = (check.summary or "").replace("`", "").replace("\\", "")
        assert "fast was refused: its provider does not know this model (HTTP 404)." in told
        assert "So strong was asked." in told
        assert "| model | strong" in told
    assert (len(refused.calls), len(other.calls)) == (1, 7)


async def test_a_file_whose_remarks_no_second_look_checked_is_not_approved(story: Story, model: ScriptedModel) -> None:
    model.when("len(prices)", {"findings": [claim() | {"confidence": 0.8}]})
    model.when("== candidates", Fails(400))
    repository, alice, pull, head = await _open_pull_request(story)
    told = "billing/pay.py: no second look could check what the model remarked on it (1 in all)"
    assert told in (story.check(repository, head).summary or "").replace("`", "")
    assert story.check(repository, head).conclusion == "action_required"

    head = await story.after(alice.push(repository, "feature", {"note.md": "A note.\n"}))
    assert story.check(repository, head).conclusion == "action_required"
    assert (story.gates(pull), story.comments(pull)) == (["human_review"], [])

    proof = "    return sum(prices) / len(prices)"
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": proof}]})
    head = await story.after(alice.push(repository, "feature", {"note.md": "Another note.\n"}))
    assert story.check(repository, head).conclusion == "failure"
    assert [comment.line for comment in story.comments(pull)] == [LINE]
    assert story.gates(pull) == []


async def test_a_push_is_reviewed_for_what_it_changes(story: Story, model: ScriptedModel) -> None:
    """A remark on a line that passed comes too late, however near to the push; an error does not."""
    late = claim(severity="warning")
    near = {**claim(9, "VALUE_8 = 8", "warning"), "message": "This has to be the next number."}
    repository, alice, pull, _ = await _open_pull_request(story)
    assert story.comments(pull) == []

    model.when("VALUE_7 = 70", {"findings": [late, near]})
    model.when("== candidates", {"verdicts": [{"number": n, "verdict": "proven", "quote": DIVISION} for n in (1, 2)]})
    pushed = PAY.replace("VALUE_7 = 7\n", "VALUE_7 = 70\n")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": pushed}))
    check = story.check(repository, head)
    assert [comment.line for comment in story.comments(pull)] == [9]
    assert check.title == "Approved, with 1 finding"
    folded = (check.summary or "").split("<details><summary>Risk")[1]
    assert "1 remark is not said here, because an earlier review passed the lines" in folded

    model.when("VALUE_7 = 700", {"findings": [claim()]})
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": pushed.replace("70\n", "700\n")}))
    assert [comment.line for comment in story.comments(pull)] == [9, LINE]
    assert "not said here" not in (story.check(repository, head).summary or "")


async def test_what_came_too_late_is_said_on_request(story: Story, model: ScriptedModel) -> None:
    repository, alice, pull, _ = await _open_pull_request(story)
    find_division(model, "warning")
    await alice.push(repository, "feature", {"billing/pay.py": PAY.replace("VALUE_7 = 7\n", "VALUE_7 = 70\n")})
    await story.settle()
    assert story.comments(pull) == []
    await story.after(alice.comment(pull, "/forge review full"))
    assert [comment.line for comment in story.comments(pull)] == [LINE]
    story.pass_over(pull)


async def test_what_the_change_does_is_told_of_the_newest_head(story: Story, model: ScriptedModel) -> None:
    model.when("len(prices)", {"summary": "Adds the mean of an order.", "findings": []})
    repository, alice, _, head = await _open_pull_request(story)
    assert "**What it does:** Adds the mean of an order." in (story.check(repository, head).summary or "")

    model.when("sum(prices)", {"summary": "Adds the total of an order.", "findings": []})
    total = PAY.replace(" / len(prices)", "")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": total}))
    assert "== what the change did before the last push\n- Adds the mean of an order." in model.calls[-1].content
    told = story.check(repository, head).summary or ""
    assert "**What it does:** Adds the total of an order." in told
    assert "mean" not in told

    head = await story.after(alice.push(repository, "feature", {"note.md": "A note.\n"}))
    assert "**What it does:** Adds the total of an order." in (story.check(repository, head).summary or "")

    model.when("sum(prices)", Fails(400))
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": total.replace("sum(", "max(")}))
    assert "What it does" not in (story.check(repository, head).summary or "")


async def test_what_is_mended_beside_its_line_ends_as_well(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    repository, alice, pull, _ = await _open_pull_request(story)
    [comment] = story.comments(pull)
    name = comment.body.split("<sub>")[1].split(" ")[0]
    model.when("len(prices)", {"findings": [], "earlier": [{"id": name, "gone": True}]})
    mended = PAY.replace("    return", "    if not prices:\n        return 0\n    return")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": mended}))
    assert comment.thread.resolved
    assert story.check(repository, head).conclusion == "success"


async def test_thread_of_the_model_stays_when_it_does_not_agree(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    repository, alice, pull, _ = await _open_pull_request(story)
    [comment] = story.comments(pull)
    name = comment.body.split("<sub>")[1].split(" ")[0]
    model.when("max(len(prices), 0)", {"findings": [], "earlier": [{"id": name, "gone": False}]})
    changed = PAY.replace("len(prices)", "max(len(prices), 0)")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": changed}))
    assert not comment.thread.resolved
    assert story.check(repository, head).conclusion == "failure"
    assert len(story.comments(pull)) == 1
