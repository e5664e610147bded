"""What a model does wrong is a text it can act on; what is not its doing is not."""

import pytest
from pydantic import BaseModel

from agents.loop.tools.tool import LONGEST_ANSWER, Result, Tool, ToolMistake, call_tool
from domain.errors import CodeAccessError


class Much(BaseModel):
    """How much."""

    number: int


def tool(answer: str | Exception = "x") -> Tool:
    async def call(arguments: Much) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer * arguments.number

    return Tool("repeat", "Repeats.", Much, call)


async def test_a_call_is_answered() -> None:
    assert await call_tool([tool()], "repeat", {"number": 3}) == Result(text="xxx")


async def test_a_tool_that_is_not_there() -> None:
    outcome = await call_tool([tool()], "rm", {"number": 3})
    assert outcome == Result(text="There is no tool 'rm'. There are: repeat.", is_error=True)


@pytest.mark.parametrize("arguments", [{}, {"number": "many"}, {"number": None}])
async def test_arguments_that_are_not_valid(arguments: dict[str, object]) -> None:
    outcome = await call_tool([tool()], "repeat", arguments)
    assert outcome.is_error
    assert "number: " in outcome.text


async def test_a_mistake_is_told() -> None:
    assert await call_tool([tool(ToolMistake("Try b."))], "repeat", {"number": 1}) == Result(
        text="Try b.", is_error=True
    )


async def test_what_is_not_the_models_doing_is_raised() -> None:
    with pytest.raises(CodeAccessError):
        await call_tool([tool(CodeAccessError("unreachable"))], "repeat", {"number": 1})


async def test_a_long_answer_is_cut_and_says_so() -> None:
    whole = await call_tool([tool()], "repeat", {"number": LONGEST_ANSWER})
    cut = await call_tool([tool()], "repeat", {"number": LONGEST_ANSWER + 5})
    assert whole.text == "x" * LONGEST_ANSWER
    assert cut.text.startswith("x" * LONGEST_ANSWER + "\n[Cut here, 5 characters are missing.")
