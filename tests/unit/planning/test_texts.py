"""What people read of planning: short, with what to do next, and nothing of a model's text acts."""

from collections.abc import Callable, Mapping

import pytest
from inline_snapshot import snapshot

from domain.errors import ToolError
from domain.money import Refusal
from domain.review.review import RiskLevel
from domain.runs.plan import Component, DesignDecision, HeldContract, Interface, Plan, RatedPlan, Task
from domain.runs.run import ReasonCode
from domain.verdicts import Check, Reason
from handlers.slash import read
from messages import plan as plan_texts
from messages.plan import StepState
from safety.plan_risk import rate_plan
from tests.rendering import find_active
from tests.unit.planning.plans import HOSTILE, plan, risky, task

STOPPED = Refusal(
    check=Check(name="phase", reason=Reason(code="budget", text=HOSTILE), suggestion=HOSTILE), gate="guard"
)


def full_of(text: str, count: int = 20) -> RatedPlan:
    """A plan as large as it may be, of this text."""
    words, short, place = (text * 1_000)[:990], (text * 200)[:190], (text * 300)[:290]
    tasks = tuple(
        Task(
            id=f"T{number}",
            title=short,
            description=words,
            files=(place,) * 30,
            depends_on=tuple(f"T{before}" for before in range(1, number)),
            acceptance=words,
        )
        for number in range(1, count + 1)
    )
    huge = Plan(
        summary=words,
        components=(Component(name=short, purpose=words),) * count,
        interfaces=(Interface(name=short, description=words),) * count,
        decisions=(DesignDecision(decision=words, reason=words),) * count,
        tasks=tasks,
        risk=risky(RiskLevel.high, *(words,) * 10),
        estimate=plan().estimate,
        allowed_areas=(place,) * 30,
        forbidden_areas=(place,) * 30,
        contracts=(short,) * 20,
    )
    return rate_plan(huge)


def render(of: RatedPlan) -> str:
    return plan_texts.render_comment(of, version=2, spent=123_456)


def unfold(text: str) -> str:
    return text.partition("</summary>")[2].replace("\n\n</details>", "")


ALL: Mapping[str, str] = {
    "progress": plan_texts.render_progress([(HOSTILE, state) for state in StepState], 0),
    "comment": unfold(render(full_of(HOSTILE, 1))),
    "asked": unfold(plan_texts.render_question(full_of(HOSTILE, 1), version=1)),
    "view": plan_texts.render_summary(full_of(HOSTILE, 1)),
    "no plan": plan_texts.render_summary(None),
    "questions": plan_texts.render_questions([HOSTILE] * 5, plans_only=True, spent=1),
    "no model": plan_texts.no_model(HOSTILE),
    "closed": plan_texts.CLOSED,
    **{f"stopped {why}": plan_texts.report_stop(why, spent=1) for why in ReasonCode},
    "failed": plan_texts.report_failure(ToolError(HOSTILE, HOSTILE), HOSTILE, spent=1),
    "stuck": plan_texts.report_stuck(HOSTILE, spent=1),
    "refused": plan_texts.report_refusal(STOPPED, spent=1),
}
STRUCTURE = ("bullet_list", "ordered_list", "list_item", "strong", "heading")
KINDS = [f"{kind}_{end}" for kind in STRUCTURE for end in ("open", "close")]


@pytest.mark.parametrize("text", ALL.values(), ids=ALL.keys())
def test_nothing_in_a_text_acts(text: str) -> None:
    assert find_active(text, [*KINDS, "html_inline", "softbreak"]) == []
    assert read(text) == ()
    assert text.count("<sub>") == text.count("</sub>") <= 1


@pytest.mark.parametrize("character", ["&", "`", "|", "\\", "a", "@b ", HOSTILE])
def test_the_largest_plan_fits_into_a_comment(character: str) -> None:
    text = render(full_of(character))
    assert len(text) <= 65_000
    assert "**T20**" in text
    assert "**Next:**" in text


def test_a_plan_as_a_comment() -> None:
    tasks = (task("T2", "T1", files=("tests/test_cart.py",)), task("T1", files=("src/cart.py", "api/openapi.yaml")))
    given = plan(*tasks, allowed_areas=("src", "tests", "api"), risk=risky(RiskLevel.high, "Every page uses the cart."))
    assert render(rate_plan(given)) == snapshot("""\
**Plan for this issue, version 2 · risk high**

The cart says how many items it holds.

### Tasks

1. **T1** Count the items
   - Add `count` to the cart.
   - Done when: A cart with two items says 2.
   - Files: `src/cart.py`, `api/openapi.yaml`
2. **T2** Count the items (after T1)
   - Add `count` to the cart.
   - Done when: A cart with two items says 2.
   - Files: `tests/test_cart.py`

### Components and interfaces

- `cart`: Holds the items.
- `Cart.count`: How many items there are.

### Decisions

- Count on demand. Why: It cannot go stale.

### Risk: high

- The planner sees high risk
  - Every page uses the cart.
- Changes the contract openapi, so medium at least

### Bounds

- May change: `src`, `tests`, `api`
- Stays as it is: `src/legacy/**`
- Changes contracts: `openapi`
- Estimate: about 40 changed lines, 15 minutes of work

**Next:** nothing happens on its own, because you asked only for a plan. `/forge run` carries it out, and asks for approval first if the risk is high. To change it, reply in a comment and write the command again. Forge then makes a new version.

<sub>Spent by this run so far: 0.12 USD.</sub>\
""")  # noqa: E501


def test_a_long_plan_is_whole_and_folded_and_what_comes_next_is_not() -> None:
    words = ("all of it " * 100)[:-7] + "the end"
    given = task("T1", files=tuple(f"src/part_{number}.py" for number in range(30)))
    long = given.model_copy(update={"title": words[-200:], "description": words, "acceptance": words})
    text = render(rate_plan(plan(long).model_copy(update={"summary": words})))
    assert text.startswith("<details><summary><b>Plan for this issue, version 2")
    assert text.count("the end") == 4
    assert "`src/part_29.py`" in text
    assert "**Next:**" in text.partition("</details>")[2]


def test_a_plan_without_more_than_it_needs() -> None:
    given = plan(components=(), interfaces=(), decisions=(), forbidden_areas=())
    text = render(rate_plan(given))
    assert "###" in text
    assert not any(word in text for word in ("Components", "Decisions", "Stays as it is", "contracts", "(after"))
    assert "`/forge run` carries it out" in text


def test_a_plan_is_folded_below_how_far_its_run_is() -> None:
    text = plan_texts.render_details(full_of(HOSTILE, 1), version=1)
    start, end = "<details><summary>Plan for this issue, version 1 · risk high</summary>\n\n", "\n\n</details>"
    assert text.startswith(start)
    assert text.endswith(end)
    assert find_active(text.removeprefix(start).removesuffix(end), [*KINDS, "softbreak"]) == []


@pytest.mark.parametrize(
    ("form", "last"),
    [(plan_texts.render_details, "**T20**"), (plan_texts.render_question, " more lines\n\n</details>")],
)
def test_a_plan_in_another_comment_leaves_room_for_the_rest(form: Callable[..., str], last: str) -> None:
    text = form(full_of("&"), version=1)
    assert len(text) <= 50_300
    assert last in text
    assert "write the command again" in text
    assert "### Risk" in plan_texts.render_details(rate_plan(plan()), version=1)
    assert "### Risk" not in plan_texts.render_question(rate_plan(plan()), version=1)  # the question says it


def test_the_question_has_every_word_of_a_plan() -> None:
    words = ("sort the keys of `options` " * 37).strip()
    made = Task(id="T1", title="Sort", description=words, acceptance=words)
    decision = DesignDecision(decision=words, reason=words)
    given = plan().model_copy(update={"tasks": (made,), "decisions": (decision,)})
    text = plan_texts.render_question(rate_plan(given), version=0)
    assert text.count(words) == 4
    assert text.startswith("<details><summary><b>Plan for this instruction")
    assert "…" not in text


def test_a_plan_that_is_too_long_says_what_is_left_out() -> None:
    assert "so this leaves out" in render(full_of("&"))
    assert "so this leaves out" not in render(rate_plan(plan()))


def test_questions_as_a_comment() -> None:
    assert plan_texts.render_questions(["Which cart?", "Since when?"], plans_only=True, spent=0) == snapshot("""\
**Forge has questions before it can plan this issue**

The issue does not say enough, so a plan would be a guess.

1. Which cart?
2. Since when?

**Next:** answer in a comment or in the issue itself, then write `/forge plan`.\
""")


def test_progress_in_plain_words() -> None:
    steps = [("Read the issue", StepState.done), ("Read the code", StepState.now), ("Write the plan", StepState.next)]
    assert plan_texts.render_progress(steps, 20_000) == snapshot("""\
**Forge is planning this issue**

- [x] Read the issue: done
- [ ] Read the code: now
- [ ] Write the plan: next

<sub>Spent by this run so far: 0.02 USD. `/forge cancel` stops it.</sub>\
""")


def test_progress_that_is_over_cannot_be_stopped() -> None:
    assert plan_texts.render_progress([("Read the issue", StepState.done)], 0).startswith(
        "**Forge planned this issue**"
    )
    assert "cancel" not in plan_texts.render_progress([("Read the issue", StepState.done)], 0)


def test_a_refusal_says_what_to_do() -> None:
    assert plan_texts.no_model() == snapshot("""\
**Not planned: no model is available.** No key of a provider is set.

**What to do:** the operator of Forge sets the key of a provider, such as `ANTHROPIC_API_KEY`, and restarts Forge; `forge doctor` checks it. Then give the command again.\
""")  # noqa: E501
    refusal = Refusal(check=Check(name="phase", reason=Reason(code="b", text="it would pass 5.00 USD"), suggestion=""))
    assert plan_texts.report_refusal(refusal, spent=5_000_000) == snapshot("""\
**This run was stopped by a limit.** The model was not asked: it would pass 5.00 USD

**What to do:** `/forge plan` makes a new plan.

<sub>Spent by this run so far: 5.00 USD.</sub>\
""")


def test_an_end_says_why() -> None:
    assert plan_texts.report_stop(ReasonCode.closed, spent=0) == snapshot(
        "**This run was stopped:** the issue was closed. Reopen it and write `/forge plan` to plan it again."
    )
    assert plan_texts.report_stop(ReasonCode.aborted, spent=0) == snapshot(
        "**This run was stopped:** a person stopped it. `/forge plan` makes a new plan; `/forge resume` continues a stopped `/forge run`."  # noqa: E501
    )
    assert plan_texts.report_failure(ToolError("git did not answer."), "01J", spent=0) == snapshot("""\
**Forge could not finish its work on this issue**

**What happened:** git did not answer.

**What to do:** Write `/forge plan`; if it happens again, ask the operator of Forge.

Run `01J`.\
""")
    assert plan_texts.report_stuck("It only talks.", spent=0) == snapshot("""\
**Forge is stuck on this issue.** It only talks.

**What to do:** write `/forge run` or `/forge plan` to try again. It helps if the issue says more about the goal, or asks for less at once.\
""")  # noqa: E501


def test_who_holds_a_contract_is_named() -> None:
    held = [HeldContract("db", 3, 7), HeldContract("events", 4), HeldContract(HOSTILE, None)]
    text = plan_texts.contracts_held(held, spent=0)
    assert "the contract `db` is locked by the run of #3, which opened #7; " in text
    assert "the contract `events` is locked by the run of #4; " in text
    assert text.count("is locked by") == 3
    assert "/forge run" in text


@pytest.mark.parametrize(
    "text",
    [
        plan_texts.contracts_held([HeldContract(HOSTILE, None)], spent=0),
        plan_texts.contracts_lost([HOSTILE, HOSTILE], spent=0),
        plan_texts.nothing_granted([HOSTILE], spent=0),
    ],
)
def test_names_of_contracts_and_files_do_nothing(text: str) -> None:
    assert find_active(text, ["strong_open", "strong_close", "html_inline"]) == []
