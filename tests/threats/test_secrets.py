"""Secrets stay where they are: Forge's own (T-X2, T-X3), and those in a pull request (T-X4)."""

import base64
import io
import json
import logging
import random
import string
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator

import httpx2
import pytest
import structlog
from inline_snapshot import snapshot

from bot.logging import configure
from domain.text.redaction import PROCESS_REDACTOR
from tests.stories.driver import Story
from tests.threats.traces import collect_posts, dump_database
from tests.world.replies import first_lines

_RANDOM = random.Random(11)
LETTERS = string.ascii_letters + string.digits


def some(length: int) -> str:
    return "".join(_RANDOM.choice(LETTERS) for _ in range(length))


TOKEN = "ghs" + "_" + some(36)
OPAQUE = some(24)  # has no shape, so only its value gives it away
PROCESS_REDACTOR.learn(OPAQUE)


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """Reads what the process logged; what ``configure`` sets is set back afterwards."""
    factory, root = logging.getLogRecordFactory(), logging.getLogger()
    handlers, hooks = root.handlers[:], (sys.excepthook, sys.unraisablehook, threading.excepthook)
    yield lambda: capsys.readouterr().err
    root.handlers[:] = handlers
    logging.setLogRecordFactory(factory)
    logging.raiseExceptions = True
    logging.captureWarnings(False)
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    structlog.reset_defaults()


def operate(log_format: str) -> None:
    """Log as the process does in operation, without the handlers of the tests."""
    logging.getLogger().handlers.clear()
    configure(log_format)


def fail() -> None:
    """Raises what an HTTP library would: with headers, and with a URL that holds a token."""
    request = httpx2.Request("GET", f"https://x-access-token:{TOKEN}@github.com/o/r", headers={"X-Key": OPAQUE})
    try:
        raise RuntimeError(f"refused: {request.url} {dict(request.headers)} Authorization: Bearer {OPAQUE}")
    except RuntimeError as error:
        raise ValueError(f"git fetch https://{TOKEN}@github.com failed") from error


# --- logs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_t_x3_tracebacks_in_the_log(written: Callable[[], str], log_format: str) -> None:
    operate(log_format)
    log = structlog.get_logger("forge")
    try:
        fail()
    except ValueError:
        log.exception("it failed", url=f"https://{TOKEN}@github.com", nested={"headers": [("authorization", OPAQUE)]})
    said = written()
    assert "[redacted: " in said
    assert "RuntimeError" in said
    assert TOKEN not in said
    assert OPAQUE not in said
    if log_format == "json":
        assert json.loads(said)["event"] == "it failed"


def test_t_x3_libraries_with_handlers_of_their_own(written: Callable[[], str]) -> None:
    operate("json")
    library, own = logging.getLogger("a.library"), io.StringIO()
    handler = logging.StreamHandler(own)
    library.addHandler(handler)
    try:
        fail()
    except ValueError:
        library.exception("could not fetch %s", f"https://x:{TOKEN}@github.com", stack_info=True)
    library.removeHandler(handler)
    for said in (written(), own.getvalue()):
        assert "could not fetch https://x:[redacted: GitHub token]@github.com" in said
        assert "RuntimeError" in said
        assert TOKEN not in said
        assert OPAQUE not in said


def test_t_x3_exceptions_nobody_caught(written: Callable[[], str]) -> None:
    operate("json")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    try:
        fail()
    except ValueError as error:
        sys.excepthook(ValueError, error, error.__traceback__)
    said = written()
    assert said.count("The above exception was the direct cause") == 2
    assert TOKEN not in said
    assert OPAQUE not in said


class Unruly:
    """Fails where nobody can catch it, and has a ``repr`` that tells a secret or fails."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown

    def __repr__(self) -> str:
        return OPAQUE if self._is_shown else str(fail())

    def __del__(self) -> None:
        fail()


@pytest.mark.parametrize("is_shown", [True, False])
def test_t_x3_exceptions_nobody_can_catch(written: Callable[[], str], *, is_shown: bool) -> None:
    operate("json")
    Unruly(is_shown=is_shown)
    weakref.finalize(there := Unruly(is_shown=is_shown), fail)
    del there
    said = written()
    assert said.count("Exception ignored") == 3
    assert said.count("The above exception was the direct cause") == 3
    assert TOKEN not in said
    assert OPAQUE not in said


def test_t_x3_warnings(written: Callable[[], str]) -> None:
    operate("json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"https://x:{TOKEN}@github.com is not closed, {OPAQUE}", ResourceWarning, stacklevel=1)
    said = written()
    assert "ResourceWarning: https://x:[redacted: GitHub token]@github.com is not closed" in said
    assert TOKEN not in said
    assert OPAQUE not in said


def test_t_x3_a_log_line_that_cannot_be_written(written: Callable[[], str]) -> None:
    operate("json")
    logging.getLogger("x").warning("%d items", f"https://{TOKEN}@github.com")
    closed = logging.StreamHandler(io.StringIO())
    closed.stream.close()
    library = logging.getLogger("another.library")
    library.addHandler(closed)
    library.warning("could not fetch %s", TOKEN)
    library.removeHandler(closed)
    assert TOKEN not in written()


def test_t_o2_no_sequence_reaches_the_log(written: Callable[[], str]) -> None:
    operate("console")
    structlog.get_logger("forge").warning("tool said", text="\x1b]0;owned\x07\x1b[31mred\u202e\r\nforged line")
    logging.getLogger("x").warning("\x1b[31m%s", "red\u202e")
    said = written()
    assert "forged line" in said
    assert not {"\x1b", "\u202e", "\r"} & set(said)


@pytest.mark.parametrize(
    "form",
    [
        OPAQUE,
        base64.b64encode(OPAQUE.encode()).decode(),
        base64.b64encode(b"x-access-token:" + OPAQUE.encode()).decode(),
        OPAQUE.encode().hex(),
        "\n".join([OPAQUE[:10], OPAQUE[10:]]),
        " ".join(OPAQUE),
    ],
)
def test_t_x2_other_forms_of_a_secret(written: Callable[[], str], form: str) -> None:
    operate("json")
    structlog.get_logger("forge").warning(f"printed {form} there")
    said = json.loads(written())["event"]
    assert "[redacted: known secret]" in said
    assert form not in said


# --- a real key in a pull request --------------------------------------------------------------------------

LEAKED = "ghp" + "_" + some(36)
PASSWORD = "q9Zr4" + "-Tk2w" + some(6)
BODY = [some(64) for _ in range(4)]
PEM = "\n".join(["-----BEGIN RSA " + "PRIVATE KEY-----", *BODY, "-----END RSA " + "PRIVATE KEY-----"])
SECRETS = [LEAKED, PASSWORD, *BODY]
# Each line also draws a finding of another tool, whose message or fix would like to quote it.
SETTINGS = f"""\
import os
import json; TOKEN = "{LEAKED}"
NAMES = {{"{LEAKED}": 1, "{LEAKED}": 2}}
DB_PASSWORD = "{PASSWORD}"
print(f"{PASSWORD}" is "{LEAKED}")
"""


async def test_t_x4_a_key_in_a_diff_is_reported_and_never_repeated(story: Story, written: Callable[[], str]) -> None:
    operate("json")
    repository, alice = story.repository({"app.py": "x = 1\n"})
    pull, head = await story.propose(repository, alice, {"settings.py": SETTINGS, "deploy.pem": PEM + "\n"})

    check = story.check(repository, head)
    assert check.conclusion == "failure"
    found = {(each.path, each.line): each.body for each in story.comments(pull) if "secret/" in each.body}
    assert {("settings.py", 2), ("settings.py", 4), ("deploy.pem", 1)} <= found.keys()
    assert "`settings.py:3`" in found["settings.py", 2]  # the same is said once
    assert "a GitHub token" in (check.summary or "")
    assert story.gates(pull) == ["security_findings"]
    assert first_lines(story.reviews(pull)) == snapshot(["**Changes requested: 5 findings to fix.** Risk critical."])
    assert leaks("GitHub", collect_posts(story, repository, pull)) == []
    assert leaks("the database", dump_database(story.forge.settings.database_url)) == []
    assert leaks("the log", written()) == []


async def test_t_x4_a_removed_key_is_not_repeated_either(story: Story) -> None:
    repository, alice = story.repository({"settings.py": SETTINGS})
    pull, _ = await story.propose(repository, alice, {"settings.py": "import os\nprint(missing)\n"})
    assert first_lines(story.reviews(pull)) == snapshot(["**Changes requested: 1 finding to fix.**"])
    assert leaks("GitHub", collect_posts(story, repository, pull)) == []
    assert leaks("the database", dump_database(story.forge.settings.database_url)) == []


def leaks(place: str, text: str) -> list[str]:
    """Where secrets of the pull request were found, with the text around them."""
    assert text or place == "the log"
    return [f"{place}: …{text[max(text.find(each) - 200, 0) :][:300]}" for each in SECRETS if each[:16] in text]
