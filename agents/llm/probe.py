"""Asks a model for one word, to check its name and its key."""

import time

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelHTTPError

from agents.llm import messages
from agents.llm.client import FAILURES, read_reason, summarize_error
from agents.llm.models import CALL_SECONDS, LanguageModel

_SECONDS = 30.0
_TOKENS = 16
_MEANING = {
    401: "it refuses the key",
    403: "it refuses the key, or the key may not use this model",
    404: "it does not know the model by this name",
    429: "it answers no more for now: the key's limit or credit is used up",
}


async def try_model(model: LanguageModel) -> tuple[bool, str]:
    """Whether the model answered, and in how many seconds or why not.

    It costs a few tokens that no budget counts.
    """
    started = time.monotonic()
    seconds = _SECONDS if model.seconds <= CALL_SECONDS else model.seconds  # a local one may have to be loaded first
    try:
        async with model.model:
            await model_request(
                model.model,
                [messages.build_request("Answer with one word.", "Say ok.", None)],
                model_settings=messages.build_settings(_TOKENS, seconds),
            )
    except FAILURES as error:
        status = error.status_code if isinstance(error, ModelHTTPError) else 0
        said = read_reason(error)
        why = f"{_MEANING.get(status, 'it did not answer')} ({summarize_error(error)})"
        return False, f"{why}: {said}" if said and status not in _MEANING else why
    return True, f"answered in {time.monotonic() - started:.1f} s"
