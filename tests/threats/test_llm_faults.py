"""T-L (docs/threats.md): whatever a model or its provider does, a call ends in time, paid for, with a reason."""

from collections.abc import AsyncGenerator

import pytest
from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.client import RetryPolicy
from agents.llm.models import LanguageModel
from agents.llm.scripted import Cuts, Fails, Mishap, Reports, Says, ScriptedModel, Stalls
from domain.money import CallOutcome
from tests.provider import (
    KEY,
    Provider,
    Reply,
    answer_cut_off,
    answer_error,
    answer_garbage,
    answer_late,
    answer_text,
    anthropic,
    report_value,
    serve_provider,
)
from tests.purses import OpenPurse


class Note(BaseModel):
    text: str


QUESTION = Question(key="model review 1 of 1", instructions="Answer.", content="data", max_output_tokens=300)
FINE = {"text": "fine"}


class Watch:
    """Counts the pauses instead of sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def patience(self, seconds: float = 10) -> RetryPolicy:
        return RetryPolicy(seconds=seconds, sleep=self.sleep)


@pytest.fixture
async def provider() -> AsyncGenerator[tuple[Provider, LanguageModel]]:
    there = Provider()
    async with serve_provider(there) as address:
        yield there, anthropic(address)


def sound(answer: ModelAnswer, purse: OpenPurse) -> None:
    """Every call is settled and accounted for, and there is either a value or a reason without anything secret."""
    assert purse.open == {}
    assert answer.cost == purse.charged
    assert (answer.value is None) == bool(answer.problem)
    assert KEY not in answer.model_dump_json() + str(purse.receipts)


@pytest.mark.parametrize(
    ("trouble", "seconds"),
    [
        (answer_error(529), 10),
        (answer_error(429, "rate_limit_error"), 10),
        (answer_error(500, "api_error"), 10),
        (answer_error(503), 10),
        (answer_late(), 1),
        (answer_cut_off(), 10),
    ],
    ids=["529", "429", "500", "503", "stall", "cut"],
)
async def test_l1_a_passing_trouble_is_waited_out(
    provider: tuple[Provider, LanguageModel], trouble: Reply, seconds: float
):
    """T-L1"""
    there, model = provider
    there.replies = [trouble, trouble, report_value(FINE)]
    watch, purse = Watch(), OpenPurse()

    answer = await ask(QUESTION, Note, model, purse, watch.patience(seconds))

    assert answer.value == FINE
    assert watch.slept == [1.0, 4.0]
    assert [call.outcome for call in answer.calls][-1] is CallOutcome.answered
    sound(answer, purse)


@pytest.mark.parametrize(
    ("trouble", "said", "charged"),
    [
        (answer_error(529), "HTTP 529", False),
        (answer_error(429, "rate_limit_error"), "HTTP 429", False),
        (answer_late(), "did not answer in time", True),
        (answer_cut_off(), "was reached, and the connection broke before an answer", True),
        (answer_garbage(), "cannot be read", True),
    ],
    ids=["529", "429", "stall", "cut", "garbage"],
)
async def test_l1_a_lasting_trouble_ends_with_a_reason(
    provider: tuple[Provider, LanguageModel], trouble: Reply, said: str, charged: bool
):
    """T-L1: backoff within limits; what may have been worked on is charged in full, what was refused is not."""
    there, model = provider
    there.replies = [trouble]
    watch, purse = Watch(), OpenPurse()

    answer = await ask(QUESTION, Note, model, purse, watch.patience(0.3 if "in time" in said else 10))

    assert answer.problem is not None
    assert said in answer.problem
    assert len(there.asked) <= 4
    assert purse.charged == (sum(purse.reserved) if charged else 0)
    sound(answer, purse)


async def test_l1_the_provider_says_how_long_to_wait(provider: tuple[Provider, LanguageModel]):
    """T-L1"""
    there, model = provider
    there.replies = [answer_error(429, "rate_limit_error", retry_after="20"), report_value(FINE)]
    watch = Watch()

    assert (await ask(QUESTION, Note, model, OpenPurse(), watch.patience())).value == FINE
    assert watch.slept == [20.0]


async def test_l1_nobody_waits_an_hour_for_a_model(provider: tuple[Provider, LanguageModel]):
    """T-L1"""
    there, model = provider
    there.replies = [answer_error(429, "rate_limit_error", retry_after="3600")]
    watch = Watch()

    answer = await ask(QUESTION, Note, model, OpenPurse(), watch.patience())

    assert answer.problem == "anthropic:claude-haiku-4-5 answered with HTTP 429."
    assert watch.slept == []


BAD: list[tuple[Reply, str]] = [
    (report_value({"words": 1}), "text: Field required"),
    (report_value(FINE, tool="bash"), "a tool that does not exist"),
    (report_value({"text": "x" * 7000}), "far too long"),
    (answer_text([]), "it is empty"),
    (answer_text([{"type": "text", "text": "I will not."}]), "plain text"),
    (answer_text([{"type": "text", "text": "No."}], stop="refusal"), "the model refused"),
    (
        answer_text([{"type": "tool_use", "id": "t", "name": "report", "input": {}}], stop="max_tokens"),
        "longer than allowed",
    ),
]


@pytest.mark.parametrize(("bad", "said"), BAD, ids=["schema", "tool", "huge", "empty", "text", "refusal", "cut short"])
async def test_l2_an_answer_of_no_use_is_asked_for_once_more_and_no_more(
    provider: tuple[Provider, LanguageModel], bad: Reply, said: str
):
    """T-L2"""
    there, model = provider
    there.replies = [bad]
    watch, purse = Watch(), OpenPurse()

    answer = await ask(QUESTION, Note, model, purse, watch.patience())

    assert answer.problem is not None
    assert said in answer.problem
    assert len(there.asked) == 2
    assert watch.slept == []
    assert purse.charged == sum(call.cost for call in answer.calls) > 0
    sound(answer, purse)


@pytest.mark.parametrize(("bad", "said"), BAD, ids=["schema", "tool", "huge", "empty", "text", "refusal", "cut short"])
async def test_l2_a_repaired_answer_counts(provider: tuple[Provider, LanguageModel], bad: Reply, said: str):
    """T-L2, the other rate: one slip costs one call and nothing else."""
    there, model = provider
    there.replies = [bad, report_value(FINE)]
    purse = OpenPurse()

    answer = await ask(QUESTION, Note, model, purse)

    assert answer.value == FINE
    assert said in there.asked[1]["messages"][0]["content"][0]["text"]
    sound(answer, purse)


async def test_l2_bad_json_from_a_provider_that_sends_it_as_text():
    """T-L2: OpenAI-shaped providers hand over the arguments as a string."""
    model = ScriptedModel().when("data", Reports('{"text": "fi'))

    answer = await ask(QUESTION, Note, model.language_model, OpenPurse())

    assert answer.problem == "The answer of scripted cannot be used: it is not valid JSON."
    assert len(model.calls) == 2


@pytest.mark.parametrize(
    "mishap", [Fails(529), Stalls(), Cuts(), Says(), Says("no"), Reports("{}"), Reports("[]"), Reports("{}", tool="sh")]
)
async def test_l3_identical_answers_for_ever_stop_within_the_bounds(mishap: Mishap):
    """T-L3: the model has one tool and two chances; the cost of all calls is on the answer."""
    model = ScriptedModel().when("data", mishap)
    purse = OpenPurse()

    answer = await ask(QUESTION, Note, model.language_model, purse, Watch().patience(0.05))

    assert len(model.calls) == len(answer.calls) <= 4
    sound(answer, purse)


async def test_l3_the_budget_stops_repetitions_too():
    """T-L3: what was lost counts, so even a provider that only stalls cannot spend more than there is."""
    model = ScriptedModel(price=anthropic("http://127.0.0.1:1").price).when("data", Stalls())
    once = OpenPurse()
    await ask(QUESTION, Note, model.language_model, once, RetryPolicy(attempts=1, seconds=0.05))
    purse = OpenPurse(money=3 * once.charged)  # at four fifths of which a person is asked

    answer = await ask(QUESTION, Note, model.language_model, purse, Watch().patience(0.05))

    assert answer.refusal is not None
    assert purse.charged == 2 * once.charged
    sound(answer, purse)
