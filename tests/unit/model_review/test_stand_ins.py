"""Another model answers where the one of the task is refused, away or too dear."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest
from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.client import RetryPolicy, find_stand_in
from agents.llm.models import NOT_SET_UP, LanguageModel, Models, ModelTier, Unusable
from agents.review.layers import CheckedChange, skip_model
from agents.review.reviewer import build_review
from domain.config.configuration import Configuration
from domain.money import FREE, FixedPrice, Refusal
from domain.review.changes import TouchedFile
from domain.review.review import Decision, Risk, RiskLevel
from domain.verdicts import BreakerState, Check, Reason
from tests.provider import KEY, Provider, Reply, answer_error, anthropic, report_value, serve_provider
from tests.purses import OpenPurse

QUESTION = Question(key="model review 1 of 1", instructions="Find defects.", content="BEGIN\n1+x\nEND")
GOOD = report_value({"title": "t"})


class Title(BaseModel):
    title: str


@dataclass
class TwoProviders:
    """The one that is asked first, and that of the stand-in."""

    first: Provider
    second: Provider
    own: LanguageModel
    other: LanguageModel

    async def ask(self, model: LanguageModel, money: int = 10**12) -> ModelAnswer:
        async def sleep(_seconds: float) -> None:
            return None

        return await ask(QUESTION, Title, model, OpenPurse(money), RetryPolicy(sleep=sleep))


@pytest.fixture
async def two() -> AsyncGenerator[TwoProviders]:
    first, second = Provider(), Provider([GOOD])
    async with serve_provider(first) as here, serve_provider(second) as there:
        own, other = replace(anthropic(here), name="anthropic:own"), replace(anthropic(there), name="anthropic:other")
        yield TwoProviders(first, second, own, other)


@pytest.mark.parametrize(
    ("reply", "why", "attempts"),
    [
        (
            answer_error(404, "not_found_error"),
            "anthropic:own was refused: its provider does not know this model (HTTP 404).",
            1,
        ),
        (answer_error(529), "anthropic:own answered with HTTP 529 after 4 attempts.", 4),
    ],
)
async def test_the_fallback_answers_where_a_model_is_refused_or_away(
    reply: Reply, why: str, attempts: int, two: TwoProviders
):
    two.first.replies = [reply]

    answer = await two.ask(replace(two.own, fallback=two.other))

    assert answer.value == {"title": "t"}
    assert answer.problem is None
    assert answer.last_model == "anthropic:other"
    assert answer.notice is not None
    assert why in answer.notice
    assert answer.notice.endswith("So anthropic:other was asked.")
    assert [call.model for call in answer.calls] == ["anthropic:own"] * attempts + ["anthropic:other"]


async def test_the_cheaper_model_answers_where_the_money_does_not_allow_the_other(two: TwoProviders):
    own = replace(two.own, price=FixedPrice(Decimal(100), Decimal(100)), cheaper=replace(two.other, price=FREE))

    answer = await two.ask(own, money=100_000)

    assert two.first.asked == []
    assert answer.last_model == "anthropic:other"
    assert answer.notice == "What is left of the budget does not allow anthropic:own, so anthropic:other was asked."


async def test_where_both_are_too_dear_the_budget_says_so(two: TwoProviders):
    dear = FixedPrice(Decimal(100), Decimal(100))
    answer = await two.ask(replace(two.own, price=dear, cheaper=replace(two.other, price=dear)), money=100_000)

    assert answer.refusal is not None
    assert answer.refusal.gate == "cost_overrun"
    assert two.first.asked == two.second.asked == []


async def test_where_both_are_away_both_are_named(two: TwoProviders):
    two.first.replies, two.second.replies = [answer_error(404, "not_found_error")], [answer_error(400)]

    answer = await two.ask(replace(two.own, fallback=two.other))

    assert answer.value is None
    assert answer.notice is None
    assert answer.problem is not None
    assert "anthropic:own was refused" in answer.problem
    assert "anthropic:other answered with HTTP 400" in answer.problem


async def test_an_answer_that_cannot_be_used_is_asked_for_again_where_it_came_from(two: TwoProviders):
    two.first.replies = [answer_error(404, "not_found_error")]
    two.second.replies = [report_value({"name": "t"}), GOOD]

    answer = await two.ask(replace(two.own, fallback=two.other))

    assert answer.value == {"title": "t"}
    assert (len(two.first.asked), len(two.second.asked)) == (1, 2)


@pytest.mark.parametrize(
    ("stopped_by", "stand_in"),
    [("cost", "cheaper"), ("error_rate", "fallback"), ("iteration", None), ("time", None), ("permit", None)],
)
def test_only_money_and_errors_have_another_model_asked(stopped_by: str, stand_in: str | None, two: TwoProviders):
    model = replace(two.own, cheaper=replace(two.other, name="cheaper"), fallback=replace(two.other, name="fallback"))
    check = Check(name=stopped_by, state=BreakerState.open, reason=Reason(code="x", text="x"), suggestion="")
    chosen = find_stand_in(model, Refusal(check=check))
    assert (None if chosen is None else chosen.name) == stand_in


ANTHROPIC, OLLAMA = {"ANTHROPIC_API_KEY": KEY}, {"OLLAMA_BASE_URL": "http://127.0.0.1:1/v1"}
NAMES = {ModelTier.strong: "anthropic:claude-sonnet-4-5", ModelTier.fast: "anthropic:claude-haiku-4-5"}


def _name(model: LanguageModel | None) -> str | None:
    return None if model is None else model.name.rpartition(":")[2]


@pytest.mark.parametrize(
    ("tier", "fallback", "environment", "chosen"),
    [
        (ModelTier.strong, None, ANTHROPIC, ("claude-sonnet-4-5", "claude-haiku-4-5", "claude-haiku-4-5")),
        (ModelTier.fast, None, ANTHROPIC, ("claude-haiku-4-5", None, "claude-sonnet-4-5")),
        (ModelTier.strong, "ollama:q", {**ANTHROPIC, **OLLAMA}, ("claude-sonnet-4-5", "claude-haiku-4-5", "q")),
        (ModelTier.fast, "ollama:q", {**ANTHROPIC, **OLLAMA}, ("claude-haiku-4-5", None, "q")),
        (ModelTier.fast, "ollama:q", OLLAMA, ("q", None, None)),  # no key for Anthropic
        (ModelTier.fast, "ollama:q", ANTHROPIC, ("claude-haiku-4-5", None, "claude-sonnet-4-5")),
        (ModelTier.fast, NAMES[ModelTier.fast], ANTHROPIC, ("claude-haiku-4-5", None, "claude-sonnet-4-5")),
    ],
)
def test_each_task_has_a_model_and_those_that_stand_in_for_it(
    tier: ModelTier, fallback: str | None, environment: dict[str, str], chosen: tuple[str, str | None, str | None]
):
    model = Models(NAMES, environment=environment, fallback=fallback).choose(tier)
    assert isinstance(model, LanguageModel)
    assert (_name(model), _name(model.cheaper), _name(model.fallback)) == chosen


def test_without_a_key_for_any_of_them_the_own_one_is_named():
    model = Models(NAMES, environment={}, fallback="ollama:q").choose(ModelTier.fast)
    assert isinstance(model, Unusable)
    assert "claude-haiku-4-5" in model.reason
    assert len(Models(NAMES, environment={}, fallback="ollama:q").list_unusable()) == 3


CHECKED = CheckedChange(
    merge_base="1" * 40,
    head_sha="2" * 40,
    files=1,
    additions=1,
    deletions=0,
    paths=("a.py",),
    findings=(),
    layers=(),
    not_looked_at=(),
    sandbox="",
    risk=Risk(score=0, level=RiskLevel.low, parts=()),
    touched=(TouchedFile(path="a.py", may_run=True),),
    read_by={"a.py": ("ruff",)},
    behaviour=("a.py",),
)


@pytest.mark.parametrize("are_named", [False, True])
def test_who_named_no_model_is_told_calmly_that_none_is_set_up(are_named: bool) -> None:
    model = Models(NAMES, environment={}, are_named=are_named).choose(ModelTier.fast)
    assert isinstance(model, Unusable)
    assert (model is NOT_SET_UP) is not are_named
    [reason] = build_review(CHECKED, skip_model(CHECKED, Configuration(), model)).reasons
    told = "No model read" if are_named else "No model is set up that would read"
    assert reason.text == f"Linters found nothing. {told} the logic of a.py"


def test_nobody_has_to_read_a_file_in_which_nothing_that_runs_is_new() -> None:
    none = skip_model(CHECKED, Configuration(), NOT_SET_UP)
    checked = CHECKED.model_copy(update={"read_by": {}, "behaviour": ()})
    assert build_review(checked, none).unread.paths == ("a.py",)
    plain = build_review(checked.model_copy(update={"plain": ("a.py",)}), none)
    assert (plain.unread.paths, plain.decision, plain.is_all_read) == ((), Decision.approve, False)
    assert plain.reasons[0].text == "Nothing was found"


def test_a_key_of_the_other_tier_is_a_model_that_is_set_up() -> None:
    names = {ModelTier.strong: "openai:gpt-5", ModelTier.fast: "anthropic:claude-haiku-5-5"}
    model = Models(names, environment={"OPENAI_API_KEY": "k"}, are_named=False).choose(ModelTier.fast)
    assert isinstance(model, Unusable)
    assert "ANTHROPIC_API_KEY is not set" in model.reason
