"""One question to a model over HTTP: what is sent, what comes back, what it costs."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.client import RetryPolicy
from agents.llm.models import LanguageModel, Models, ModelTier, Unusable, build_language_model
from agents.llm.tokens import count_upper_bound
from domain.money import CallOutcome, Usage
from tests.provider import (
    KEY,
    Provider,
    answer_error,
    answer_late,
    answer_text,
    anthropic,
    report_value,
    serve_provider,
)
from tests.purses import OpenPurse

QUESTION = Question(key="model review 1 of 1", instructions="Find defects.", content="BEGIN\n1+x\nEND")


class Colours(BaseModel):
    """A schema with a property whose name is a word of JSON Schema."""

    title: str
    colours: list[str] = []


@pytest.fixture
async def provider() -> AsyncGenerator[tuple[Provider, LanguageModel]]:
    there = Provider()
    async with serve_provider(there) as address:
        yield there, anthropic(address)


def impatient(**changes: float | int) -> RetryPolicy:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    return RetryPolicy(sleep=sleep, **changes)  # pyright: ignore[reportArgumentType]


async def test_an_answer_holds_the_value_the_tokens_and_the_cost(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"title": "t", "colours": ["red"]})]
    purse = OpenPurse()

    answer = await ask(QUESTION, Colours, model, purse)

    assert answer.value == {"title": "t", "colours": ["red"]}
    assert answer.problem is None
    assert answer.usage == Usage(input_tokens=1050, output_tokens=60, cache_read_tokens=100, cache_write_tokens=50)
    # 900 at 1 USD, 100 at 0.1, 50 at 1.25 and 60 at 5 USD per million, rounded up
    assert (answer.cost, purse.charged) == (1273, 1273)
    assert purse.reserved[0] > 20_000  # 4000 tokens of output alone
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer
    assert json.loads(answer.model_dump_json())["calls"][0]["seconds"] > 0


async def test_the_stable_part_goes_first_and_may_be_cached(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"title": "t"})]

    await ask(QUESTION, Colours, model, OpenPurse())

    (sent,) = there.asked
    (system,) = sent["system"]
    assert (system["text"], system["cache_control"]["type"]) == ("Find defects.", "ephemeral")
    assert sent["messages"] == [{"role": "user", "content": [{"text": "BEGIN\n1+x\nEND", "type": "text"}]}]
    assert sent["tool_choice"]["type"] in {"any", "tool"}
    (tool,) = sent["tools"]
    assert tool["name"] == "report"
    assert set(tool["input_schema"]["properties"]) == {"title", "colours"}
    assert "title" not in tool["input_schema"]
    assert sent["max_tokens"] == 4000
    assert any(KEY in value for value in there.headers[0].values())


async def test_the_reservation_covers_what_is_sent(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"title": "t"})]
    long = QUESTION.model_copy(update={"content": "word " * 5000})
    purse = OpenPurse()

    await ask(long, Colours, model, purse)

    body = json.dumps(there.asked[0])
    assert purse.reserved[0] >= count_upper_bound(body) + 5 * 4000


async def test_no_money_no_call(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"title": "t"})]

    answer = await ask(QUESTION, Colours, model, OpenPurse(money=100))

    assert there.asked == []
    assert answer.value is None
    assert answer.refusal is not None
    assert answer.problem is not None
    assert "The model was not asked" in answer.problem
    assert "budgets.phase.review" in answer.problem


async def test_an_answer_that_does_not_fit_is_asked_for_once_more(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"colours": "red"}), report_value({"title": "t"})]

    answer = await ask(QUESTION, Colours, model, OpenPurse())

    assert answer.value == {"title": "t", "colours": []}
    assert len(answer.calls) == 2
    repeated = there.asked[1]["messages"][0]["content"][0]["text"]
    assert repeated.startswith(QUESTION.content)
    assert "title: Field required" in repeated


async def test_usage_that_is_missing_costs_the_reservation(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"title": "t"}, usage=None)]
    purse = OpenPurse()

    answer = await ask(QUESTION, Colours, model, purse)

    assert answer.value is not None
    assert answer.cost == purse.reserved[0]


async def test_a_key_that_is_not_accepted_is_no_reason_to_try_again(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [answer_error(401, "authentication_error")]
    purse = OpenPurse()

    answer = await ask(QUESTION, Colours, model, purse, impatient())

    assert len(there.asked) == 1
    assert answer.problem == (
        "anthropic:claude-haiku-4-5 was refused: its provider does not accept the key (HTTP 401). "
        "Check ANTHROPIC_API_KEY."
    )
    assert [call.outcome for call in answer.calls] == [CallOutcome.refused]
    assert purse.charged == 0
    assert KEY not in str(purse.receipts)


@pytest.mark.parametrize(("status", "why"), [(404, "does not know this model"), (403, "does not let this key use")])
async def test_a_model_that_is_refused_names_the_setting_that_chose_it(
    provider: tuple[Provider, LanguageModel], status: int, why: str
):
    there, model = provider
    there.replies = [answer_error(status, "not_found_error")]

    answer = await ask(QUESTION, Colours, replace(model, setting="FORGE_STRONG_MODEL"), OpenPurse(), impatient())

    assert len(there.asked) == 1
    assert answer.problem is not None
    assert why in answer.problem
    assert answer.problem.endswith(f"(HTTP {status}). Name another one in FORGE_STRONG_MODEL.")


async def test_a_call_is_bounded_in_time(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [answer_late()]
    purse = OpenPurse()

    answer = await ask(QUESTION, Colours, model, purse, impatient(seconds=0.2, attempts=2))

    assert len(there.asked) == 2
    assert answer.problem == "anthropic:claude-haiku-4-5 did not answer in time after 2 attempts."
    assert purse.charged == sum(purse.reserved)


async def test_text_beside_the_report_does_not_matter(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    blocks = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "t", "name": "report", "input": {"title": "t"}},
    ]
    there.replies = [answer_text(blocks, stop="tool_use")]

    assert (await ask(QUESTION, Colours, model, OpenPurse())).value is not None


@pytest.mark.parametrize(
    ("name", "environment", "reason"),
    [
        ("anthropic:claude-haiku-4-5", {}, "ANTHROPIC_API_KEY is not set"),
        ("anthropic:claude-haiku-4-5", {"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY is not set"),
        ("openai:gpt-5-mini", {}, "OPENAI_API_KEY is not set"),
        ("ollama:qwen3", {}, "OLLAMA_BASE_URL is not set"),
        ("nonsense:model", {}, "nonsense:model cannot be asked"),
    ],
)
def test_without_a_key_there_is_a_reason_instead_of_a_model(name: str, environment: dict[str, str], reason: str):
    unusable = build_language_model(name, {}, environment)
    assert isinstance(unusable, Unusable)
    assert reason in unusable.reason
    assert unusable.advice
    assert Models(dict.fromkeys(ModelTier, name), environment=environment).list_unusable() == [unusable]


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("openai:gpt-5-mini", {"OPENAI_API_KEY": "k"}),
        ("openai-chat:mine", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}),
        ("ollama:qwen3", {"OLLAMA_BASE_URL": "http://127.0.0.1:1/v1"}),
    ],
)
def test_other_providers_are_a_matter_of_names(name: str, environment: dict[str, str]):
    assert isinstance(build_language_model(name, {}, environment), LanguageModel)


@pytest.mark.parametrize(("name", "extra"), [("bedrock:x", "bedrock"), ("google-cloud:x", "google")])
def test_a_provider_that_is_not_installed_is_said_with_how_to_install_it(name: str, extra: str):
    model = build_language_model(name, {}, {})
    assert isinstance(model, Unusable)
    assert f"pip install '.[{extra}]'" in model.reason


def test_models_are_chosen_by_task():
    names = {ModelTier.strong: "anthropic:claude-sonnet-4-5", ModelTier.fast: "anthropic:claude-haiku-4-5"}
    models = Models(names, environment={"ANTHROPIC_API_KEY": "k"})
    fast = models.choose(ModelTier.fast)
    assert isinstance(fast, LanguageModel)
    assert fast.name == "anthropic:claude-haiku-4-5"
    assert models.choose(ModelTier.fast) is fast
    strong = models.choose(ModelTier.strong)
    assert isinstance(strong, LanguageModel)
    assert (fast.setting, strong.setting) == ("FORGE_FAST_MODEL", "FORGE_STRONG_MODEL")
