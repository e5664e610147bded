"""Attacks by slash command, as far as the parser decides them (T-P and T-O in docs/threats.md)."""

from typing import Any

import pytest

from domain.commands import ExecuteComment, Ignored
from domain.slash import PlainCommand, Problem, SlashMistake
from domain.text.escaping import code_block, escape, inline_code
from domain.verbs import VERBS, Verb
from handlers import translate
from handlers.slash import read
from messages import commands as command_texts
from tests.unit.handlers.payloads import ANN, APP_ID, FORGE, issue_comment, review, review_comment

COMMAND = "/forge approve"
OTHER_BOT: dict[str, Any] = {"id": 501, "login": "helper[bot]", "type": "Bot"}
DISGUISED: dict[str, Any] = {"id": 502, "login": "forge", "type": "Bot"}  # trust in the suffix has been exploited


def _all(**how: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("issue_comment", issue_comment(COMMAND, **how)),
        ("pull_request_review_comment", review_comment(COMMAND, **how)),
        ("pull_request_review", review(COMMAND, **how)),
    ]


def _answer(event: str, payload: dict[str, Any]) -> str:
    found = translate(event, payload, APP_ID)
    return found.reason if isinstance(found, Ignored) else "commands"


def test_t_p3_a_person_commands_in_every_kind_of_comment() -> None:
    """The other rate: what follows is not refused because everything is."""
    assert {_answer(event, payload) for event, payload in _all()} == {"commands"}


@pytest.mark.parametrize("bot", [FORGE, OTHER_BOT, DISGUISED], ids=["Forge itself", "another bot", "without suffix"])
def test_t_p3_no_app_commands(bot: dict[str, Any]) -> None:
    """Neither Forge nor another App commands, whatever it writes; so nothing Forge writes can start a loop."""
    assert {_answer(event, payload) for event, payload in _all(sender=bot)} == {"sent_by_an_app"}


def test_t_p3_an_app_that_writes_in_a_persons_name_does_not_command() -> None:
    spoken_for = _all(performed_via_github_app={"id": 77, "slug": "helper"})
    assert {_answer(event, payload) for event, payload in spoken_for} == {"sent_by_an_app"}


def test_t_p3_a_bot_that_passes_on_a_persons_comment_does_not_command() -> None:
    assert {_answer(event, payload) for event, payload in _all(sender=OTHER_BOT, user=ANN)} == {"sent_by_an_app"}


@pytest.mark.parametrize("editor", [ANN, {"id": 1, "login": "admin", "type": "User"}], ids=["author", "admin"])
def test_t_p4_edits_never_act(editor: dict[str, Any]) -> None:
    """Whoever edits a comment into a command, it does not act: it was not written by who would be held to it."""
    edited = _all(action="edited", sender=editor, user=ANN)
    assert {_answer(event, payload) for event, payload in edited} == {"comment_edited"}


@pytest.mark.parametrize(
    "body",
    [
        f"> {COMMAND}",
        f"`{COMMAND}`",
        f"```\n{COMMAND}\n```",
        f"    {COMMAND}",
        f"[{COMMAND}](https://example.com)",
        f"# {COMMAND}",
        f"{COMMAND}\n===",
        f"<!-- {COMMAND} -->",
        f"<!--\n{COMMAND}\n-->",
        f"On Monday somebody wrote:\n> please\n{COMMAND}",
    ],
)
def test_t_p5_shown_is_not_said(body: str) -> None:
    """A command in a quote, code, a link, a heading or an HTML comment is not parsed."""
    assert read(body) == ()
    assert read(f"{body}\n\n{COMMAND}") == read(COMMAND)


@pytest.mark.parametrize(
    "written",
    [
        "/forge appro\u200bve",
        "/forge \u200bapprove",
        "/forge approve\u200b",
        "/forge \u0430pprove",  # Cyrillic a
        "/forge \uff41pprove",  # full width a
        "/forge \u202eevorppa",
        "/forge approve\u2066 with: x\u2069",
        "/forge approve with:\u00a0",
        "/forge dismiss F-AEGTU\u0406 fine",  # Cyrillic I
        "/forge dismiss F-AEGTUI\u200b fine",
        "/forge \u017ftatus",  # long s, which case folding makes an s
        "/forge rollbac\u212a staging",  # Kelvin sign, the lower case of which is a k
    ],
)
def test_t_p6_look_alikes_are_mistakes(written: str) -> None:
    """Only the exact grammar commands; what merely looks like it is answered, and what it hides is not repeated."""
    [made] = read(written)
    assert isinstance(made, SlashMistake)
    assert made.problem in {Problem.unknown_verb, Problem.malformed, Problem.no_finding}
    assert not set("\u200b\u202e\u2066\u2069") & set(command_texts.explain_mistake(made))


@pytest.mark.parametrize(
    "written",
    [
        "\u200b/forge approve",
        "/fo\u200brge approve",
        "\u202e/forge approve",
        "\ufeff/forge approve",
        "\u00a0/forge approve",
        "/forge\u00a0approve",
        "\uff0fforge approve",
        "\uff0f\uff46orge approve",
        "/forge:approve",
        "/forge: approve with: a test",
        "/forge-approve",
        "/forge/approve",
        "/forge, approve",
        "/forge\uff0capprove",
        "/forge\u3000approve",
        "/f\u043erge approve",
        "/forg\u0435 approve",
        "/FORG\u0415 approve",
        "Please:\n/forge\u2003approve",
    ],
)
def test_t_p6_what_nearly_begins_like_a_command_is_a_mistake(written: str) -> None:
    """It gets a word, because silence helps nobody, and never acts."""
    [made] = read(written)
    assert isinstance(made, SlashMistake)
    assert (made.problem, made.verb) == (Problem.near_miss, Verb.approve)
    said = command_texts.explain_mistake(made)
    assert "`/forge approve" in said
    assert said.isascii()


@pytest.mark.parametrize("written", ["\u2215forge approve", "x\u200b /forge approve"])
def test_t_p6_what_does_not_begin_like_a_command_is_nothing(written: str) -> None:
    assert read(written) == ()


def test_t_p6_hidden_characters_do_not_reach_what_is_kept() -> None:
    [asked] = read("/forge dismiss F-AEGTUI it is \u202eesu ni\u202c fine\u200b")
    assert getattr(asked, "reason", None) == "it is esu ni fine"


def test_t_p6_line_ends_and_several_commands() -> None:
    """CRLF is a line end like any other, and each line is a command of its own."""
    assert read("/forge status\r\n/forge test\r/forge cost") == tuple(
        PlainCommand(verb=verb) for verb in (Verb.status, Verb.test, Verb.cost)
    )
    [made] = read("/forge status /forge help")
    assert isinstance(made, SlashMistake)


@pytest.mark.parametrize("verb", [*VERBS])
def test_t_o6_no_output_commands(verb: Verb) -> None:
    """Text of tools, models and pull requests that Forge repeats is never a command, not even if a person sent it."""
    line = f"/forge {verb}"
    for shown in (escape(line), escape(f"a\n{line}"), inline_code(line), code_block(f"a\n{line}\n```\n{line}")):
        assert read(shown) == ()
        assert read(f"Found:\n{shown}") == ()


def test_t_o6_no_answer_of_forge_commands() -> None:
    mistakes = [SlashMistake(problem=problem, written=COMMAND, verb=Verb.approve) for problem in Problem]
    for text in [
        command_texts.render_help(True),
        *map(command_texts.explain_mistake, mistakes),
    ]:
        body = command_texts.compose(
            [command_texts.Answer(COMMAND, text), command_texts.Answer(COMMAND, text)], "<!-- forge -->"
        )
        assert read(text) == read(body) == ()


def test_t_o6_a_comment_that_only_quotes_forge_asks_nothing() -> None:
    quoted = "\n".join(f"> {line}" for line in command_texts.render_help(True).splitlines())
    found = translate("issue_comment", issue_comment(quoted), APP_ID)
    assert not isinstance(found, ExecuteComment)
