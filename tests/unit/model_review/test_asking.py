"""One question to a model over HTTP: what is sent, what comes back, what it costs."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from aiohttp import web
from pydantic import BaseModel
from structlog.testing import capture_logs

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.client import RetryPolicy
from agents.llm.models import LanguageModel, Models, ModelTier, Unusable, build_language_model
from agents.llm.prices import count_upper_bound
from domain.money import CallOutcome, Usage
from tests.provider import (
    KEY,
    Provider,
    Reply,
    answer_error,
    answer_late,
    answer_text,
    anthropic,
    report_value,
    serve_provider,
)
from tests.purses import OpenPurse

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
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


async def answer(
    provider: tuple[Provider, LanguageModel],
    *replies: Reply,
    purse: OpenPurse | None = None,
    policy: RetryPolicy | None = None,
    **differs: Any,
) -> ModelAnswer:
    """The answer to the question, asked of a model that may differ, whose provider replies so."""
    there, model = provider
    there.replies = [*replies]
    asked = dataclasses.replace(model, **differs)
    return await ask(QUESTION, Colours, asked, purse or OpenPurse(), policy or impatient())


def impatient(attempts: int = RetryPolicy.attempts, seconds: float | None = None) -> RetryPolicy:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    return RetryPolicy(sleep=sleep, attempts=attempts, seconds=seconds)


async def test_an_answer_holds_the_value_the_tokens_and_the_cost(provider: tuple[Provider, LanguageModel]):
    purse = OpenPurse()
    found = await answer(provider, report_value({"title": "t", "colours": ["red"]}), purse=purse)
    assert found.value == {"title": "t", "colours": ["red"]}
    assert found.problem is None
    assert found.usage == Usage(input_tokens=1050, output_tokens=60, cache_read_tokens=100, cache_write_tokens=50)
    # 900 at 1 USD, 100 at 0.1, 50 at 1.25 and 60 at 5 USD per million, rounded up
    assert (found.cost, purse.charged) == (1273, 1273)
    assert purse.reserved[0] > 20_000  # 4000 tokens of output alone
    assert ModelAnswer.model_validate_json(found.model_dump_json()) == found
    assert json.loads(found.model_dump_json())["calls"][0]["seconds"] > 0


async def test_the_stable_part_goes_first_and_may_be_cached(provider: tuple[Provider, LanguageModel]):
    await answer(provider, report_value({"title": "t"}))
    (sent,) = provider[0].asked
    (system,) = sent["system"]
    assert (system["text"], system["cache_control"]["type"]) == ("Find defects.", "ephemeral")
    assert sent["messages"] == [{"role": "user", "content": [{"text": "BEGIN\n1+x\nEND", "type": "text"}]}]
    assert sent["tool_choice"]["type"] in {"any", "tool"}
    (tool,) = sent["tools"]
    assert tool["name"] == "report"
    assert set(tool["input_schema"]["properties"]) == {"title", "colours"}
    assert "title" not in tool["input_schema"]
    assert sent["max_tokens"] == 4000
    assert any(KEY in value for value in provider[0].headers[0].values())


async def test_the_reservation_covers_what_is_sent(provider: tuple[Provider, LanguageModel]):
    there, model = provider
    there.replies = [report_value({"title": "t"})]
    long = QUESTION.model_copy(update={"content": "word " * 5000})
    purse = OpenPurse()

    await ask(long, Colours, model, purse)

    body = json.dumps(there.asked[0])
    assert purse.reserved[0] >= count_upper_bound(body) + 5 * 4000


async def test_no_money_no_call(provider: tuple[Provider, LanguageModel]):
    found = await answer(provider, report_value({"title": "t"}), purse=OpenPurse(money=100))
    assert provider[0].asked == []
    assert found.value is None
    assert found.refusal is not None
    assert "The model was not asked" in (found.problem or "")
    assert "budgets.phase.review" in (found.problem or "")


async def test_an_answer_that_does_not_fit_is_asked_for_once_more(provider: tuple[Provider, LanguageModel]):
    found = await answer(provider, report_value({"colours": "red"}), report_value({"title": "t"}))
    assert found.value == {"title": "t", "colours": []}
    assert len(found.calls) == 2
    repeated = provider[0].asked[1]["messages"][0]["content"][0]["text"]
    assert repeated.startswith(QUESTION.content)
    assert "title: Field required" in repeated


async def test_usage_that_is_missing_costs_the_reservation(provider: tuple[Provider, LanguageModel]):
    purse = OpenPurse()
    found = await answer(provider, report_value({"title": "t"}, usage=None), purse=purse)
    assert found.value is not None
    assert found.cost == purse.reserved[0]


async def test_a_key_that_is_not_accepted_is_no_reason_to_try_again(provider: tuple[Provider, LanguageModel]):
    purse = OpenPurse()
    found = await answer(provider, answer_error(401, "authentication_error"), purse=purse)
    assert len(provider[0].asked) == 1
    assert found.problem == (
        "anthropic:claude-haiku-4-5 was refused: its provider does not accept the key (HTTP 401). "
        "Check ANTHROPIC_API_KEY."
    )
    assert [call.outcome for call in found.calls] == [CallOutcome.refused]
    assert purse.charged == 0
    assert KEY not in str(purse.receipts)


@pytest.mark.parametrize(("status", "why"), [(404, "does not know this model"), (403, "does not let this key use")])
async def test_a_model_that_is_refused_names_the_setting_that_chose_it(
    provider: tuple[Provider, LanguageModel], status: int, why: str
):
    found = await answer(provider, answer_error(status, "not_found_error"), setting="FORGE_STRONG_MODEL")
    assert len(provider[0].asked) == 1
    assert why in (found.problem or "")
    assert (found.problem or "").endswith(f"(HTTP {status}). Name another one in FORGE_STRONG_MODEL.")


async def test_a_call_is_bounded_in_time(provider: tuple[Provider, LanguageModel]):
    purse = OpenPurse()
    found = await answer(provider, answer_late(), purse=purse, policy=impatient(seconds=0.2, attempts=2))
    assert len(provider[0].asked) == 2
    assert found.problem == "anthropic:claude-haiku-4-5 did not answer in time after 2 attempts."
    assert purse.charged == sum(purse.reserved)


async def test_text_beside_the_report_does_not_matter(provider: tuple[Provider, LanguageModel]):
    blocks = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "t", "name": "report", "input": {"title": "t"}},
    ]
    assert (await answer(provider, answer_text(blocks, stop="tool_use"))).value is not None


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


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Your credit balance is too low to access the Anthropic API.", "the credit of its account is used up"),
        ("You exceeded your current quota, please check your plan.", "the credit of its account is used up"),
        ("prompt is too long: 214000 tokens > 200000 maximum", "too long for it"),
        ("This model's maximum context length is 8192 tokens.", "too long for it"),
        ("Output blocked by content filtering policy", "its content filter blocked"),
        ("messages: roles must alternate", None),
    ],
)
async def test_the_providers_own_reason(provider: tuple[Provider, LanguageModel], said: str, told: str | None):
    """It is in the log, whatever it is; what people can do something about is said in Forge's words, too."""
    refused = answer_error(400, "invalid_request_error", said=f"{said} {TOKEN}\n\u202e{'x' * 400}")
    with capture_logs() as logs:
        found = await answer(provider, refused)
    assert found.problem is not None
    assert said not in found.problem
    assert told in found.problem if told else found.problem.endswith("HTTP 400.")
    [entry] = [each for each in logs if each["event"] == "model.failed"]
    assert entry["said"].startswith(said)
    assert (TOKEN in entry["said"], "\u202e" in entry["said"], len(entry["said"]) <= 301) == (False, False, True)


@pytest.mark.parametrize(("seconds", "is_answered"), [(0.3, False), (30.0, True)])
async def test_a_slow_model_is_given_the_time_that_the_operator_sets(
    provider: tuple[Provider, LanguageModel], seconds: float, is_answered: bool
):
    """A second stands for two minutes: a local model may well take longer for a large prompt."""

    async def reply_late(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(1)
        return await report_value({"title": "t"})(request)

    found = await answer(provider, reply_late, policy=impatient(attempts=1), seconds=seconds)
    assert (found.value is not None) is is_answered
    assert is_answered or (found.problem or "").endswith("did not answer in time.")


def test_the_time_limit_of_the_operator_is_that_of_every_model_and_of_who_waits_for_it():
    environment = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    names = {ModelTier.strong: "anthropic:claude-sonnet-4-5", ModelTier.fast: "openai:gpt-5-mini"}
    models = Models(names, environment=environment, seconds=600)
    chosen = [models.choose(tier) for tier in ModelTier]
    assert [each.seconds for each in chosen if isinstance(each, LanguageModel)] == [600, 600]
    [strong, _] = chosen
    assert isinstance(strong, LanguageModel)
    assert RetryPolicy().measure_longest(strong) >= 2 * 4 * 600
