"""The grammar of slash commands, verb by verb: what is taken, and what is answered as a mistake."""

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.commands import COMMAND, ExecuteComment
from domain.slash import (
    LONGEST_TEXT,
    MOST_COMMANDS,
    SLASH,
    AboutFinding,
    AboutGate,
    AddressThreads,
    Approve,
    AskFix,
    AskHelp,
    AskReview,
    Confirm,
    Continue,
    Delegate,
    Deploy,
    Describe,
    Dismiss,
    Forget,
    Level,
    LookBack,
    Mend,
    Pause,
    PlainCommand,
    Problem,
    Reject,
    Retry,
    Rollback,
    RunIssue,
    SlashCommand,
    SlashMistake,
    TakeBaseIn,
    Tell,
    TextCommand,
    Walkthrough,
    WriteChangelog,
    WriteTests,
)
from domain.text.escaping import strip_invisible
from domain.verbs import SUBJECTS, VERBS, Verb, VerbRow
from handlers import translate
from handlers.slash import read
from tests.unit.handlers.payloads import APP_ID, issue_comment

PLAIN = (
    Verb.status,
    Verb.cost,
    Verb.test,
    Verb.plan,
    Verb.resume,
    Verb.cancel,
    Verb.accept,
    Verb.abort,
)

GOOD: list[tuple[str, SlashCommand]] = [
    *[(verb.value, PlainCommand(verb=verb)) for verb in PLAIN],
    ("help", AskHelp()),
    ("help do", AskHelp(about=Verb.do)),
    ("help /forge confirm", AskHelp(about=Verb.confirm)),
    ("pause", Pause(verb=Verb.pause)),
    ("pause here", Pause(verb=Verb.pause, here=True)),
    ("unpause Here", Pause(verb=Verb.unpause, here=True)),
    ("unpause", Pause(verb=Verb.unpause)),
    ("view", AboutGate(verb=Verb.view)),
    ("view human_review", AboutGate(verb=Verb.view, gate="human_review")),
    ("suggest G-4ZK9QX", AboutGate(verb=Verb.suggest, gate="G-4ZK9QX")),
    ("diff", LookBack(verb=Verb.diff)),
    ("diff destructive", LookBack(verb=Verb.diff, gate="destructive")),
    ("diff f-aegtui", LookBack(verb=Verb.diff, finding="F-AEGTUI")),
    ("history", LookBack(verb=Verb.history)),
    ("history F-AEGTUI", LookBack(verb=Verb.history, finding="F-AEGTUI")),
    ("level", Level()),
    ("level 3", Level(level=3)),
    ("why F-AEGTUI", AboutFinding(verb=Verb.why, finding="F-AEGTUI")),
    ("explain f-aegtui", AboutFinding(verb=Verb.explain, finding="F-AEGTUI")),
    ("do rename  this to `total`", TextCommand(verb=Verb.do, text="rename this to `total`")),
    ("mend", Mend()),
    ("update", TakeBaseIn()),
    ("update keep  ours ", TakeBaseIn(text="keep ours")),
    ("address", AddressThreads()),
    ("describe", Describe()),
    ("describe Apply", Describe(apply=True)),
    ("tests", WriteTests()),
    ("tests `shop/my cart.py`", WriteTests(path="shop/my cart.py")),
    ("changelog", WriteChangelog()),
    ("walkthrough", Walkthrough()),
    ("fix F-234567", AskFix(finding="F-234567")),
    ("fix All ", AskFix(everything=True)),
    ("undismiss F-AEGTUI", AboutFinding(verb=Verb.undismiss, finding="F-AEGTUI")),
    ("run", RunIssue()),
    ("run Interactive", RunIssue(mode="interactive")),
    ("run deterministic ", RunIssue(mode="deterministic")),
    ("review", AskReview()),
    ("review FULL", AskReview(full=True)),
    ("dismiss F-AEGTUI not a bug: `x` is set", Dismiss(finding="F-AEGTUI", reason="not a bug: `x` is set")),
    ("remember tests need *two* databases", Tell(verb=Verb.remember, text="tests need *two* databases")),
    ("missed a race in app.py", Tell(verb=Verb.missed, text="a race in app.py")),
    ("ask Who calls `total`?", TextCommand(verb=Verb.ask, text="Who calls `total`?")),
    ("forget M-4ZK9QX", Forget(memory="M-4ZK9QX")),
    ("continue 5usd", Continue(usd=Decimal(5))),
    ("continue 2.50 USD", Continue(usd=Decimal("2.50"))),
    ("continue 10it", Continue(iterations=10)),
    ("approve", Approve()),
    ("approve a1b2c3d", Approve(sha="a1b2c3d")),
    ("approve human_review", Approve(gate="human_review")),
    ("approve G-4ZK9QX a1b2c3d with: add a test", Approve(gate="G-4ZK9QX", sha="a1b2c3d", conditions="add a test")),
    ("approve with: add a test", Approve(conditions="add a test")),
    ("reject too risky", Reject(reason="too risky")),
    ("reject guard it loops", Reject(gate="guard", reason="it loops")),
    ("retry", Retry()),
    ("retry recovery", Retry(gate="recovery")),
    ("delegate @octo-cat", Delegate(account="octo-cat")),
    ("delegate agent", Delegate(to="agent")),
    ("delegate recovery agent", Delegate(gate="recovery", to="agent")),
    ("delegate cost_overrun @jane_acme", Delegate(gate="cost_overrun", account="jane_acme")),
    ("confirm F-AEGTUI it matters", Confirm(finding="F-AEGTUI", reason="it matters")),
    ("dismiss F-AEGTUI file: generated", Dismiss(finding="F-AEGTUI", scope="file", reason="generated")),
    ("dismiss F-AEGTUI Repository:  vendored", Dismiss(finding="F-AEGTUI", scope="repository", reason="vendored")),
    ("dismiss F-AEGTUI file is generated", Dismiss(finding="F-AEGTUI", reason="file is generated")),
    ("rollback C-4ZK9QX", Rollback(checkpoint="C-4ZK9QX")),
    ("rollback C-01J000000000000000004ZK9QX", Rollback(checkpoint="C-01J000000000000000004ZK9QX")),
    ("rollback C-4ZK9QX a.py  b/c.py", Rollback(checkpoint="C-4ZK9QX", paths=("a.py", "b/c.py"))),
    ('rollback C-4ZK9QX `a b.py` "c d.py"', Rollback(checkpoint="C-4ZK9QX", paths=("a b.py", "c d.py"))),
    ("rollback staging", Rollback(environment="staging")),
    ("rollback eu/production", Rollback(environment="eu/production")),
    ("rollback hold", Rollback(environment="hold")),
    ("deploy eu/production", Deploy(environment="eu/production")),
    ("deploy staging hold", Deploy(environment="staging", wish="hold")),
    ("deploy staging \t go-on ", Deploy(environment="staging", wish="go-on")),
    ("deploy prod-1.eu_2 cancel", Deploy(environment="prod-1.eu_2", wish="cancel")),
    ("deploy hold", Deploy(environment="hold")),
    ("deploy hold hold", Deploy(environment="hold", wish="hold")),
]

MALFORMED = [
    "status now",
    "view two words",
    "level 5",
    "level high",
    "review fully",
    "run fast",
    "run interactive now",
    "explain F-AEGTUI now",
    "dismiss F-AEGTUI",
    "remember",
    "forget F-AEGTUI",
    "continue",
    "continue 5",
    "continue 5eur",
    "continue 0it",
    "continue -5usd",
    "continue 99999usd",
    "approve with:",
    "approve human_review a1b2c3d please",
    "approve [human_review](https://example.com)",
    "approve with: x <!-- and anything else -->",
    "reject",
    "reject human_review",
    "delegate octocat",
    "dismiss F-AEGTUI file:",
    "confirm F-AEGTUI",
    "rollback",
    "rollback C-4ZK9",
    "rollback C-4ZK9 a.py",
    "rollback C-4ZK9QXa.py",
    "rollback staging a.py",
    f"rollback C-4ZK9QX {' '.join(map(str, range(51)))}",
    "deploy",
    "deploy two words",
    "deploy staging Hold",
    "deploy staging go on",
    "deploy staging hold now",
    "deploy -staging",
    "deploy stäging",
    "deploy staging; rm",
    f"deploy {'a' * 101}",
    "rollback -staging",
    "rollback staging hold",
]


def test_every_verb_is_tried() -> None:
    assert {command.verb for _, command in GOOD} == set(Verb) == set(VERBS)
    assert sorted(itertools.chain(*SUBJECTS.values())) == sorted(Verb)


@pytest.mark.parametrize(("verb", "row"), VERBS.items())
def test_the_example_of_a_verb_is_read_as_that_verb(verb: Verb, row: VerbRow) -> None:
    [command] = read(f"/forge {row.example or verb}")
    assert not isinstance(command, SlashMistake)
    assert command.verb is verb


def test_a_command_is_read() -> None:
    assert [written for written, expected in GOOD if read(f"/forge {written}") != (expected,)] == []


def test_a_command_survives_storage() -> None:
    for _, command in GOOD:
        assert SLASH.validate_json(SLASH.dump_json(command)) == command
        assert SLASH.validate_python(SLASH.dump_python(command, mode="json")) == command


def test_a_whole_comment_survives_storage() -> None:
    body = "\n".join([*(f"/forge {written}" for written, _ in GOOD[-12:]), "/forge aprove"])
    command = translate("issue_comment", issue_comment(body), APP_ID)
    assert isinstance(command, ExecuteComment)
    assert len(command.asked) == 13
    assert COMMAND.validate_python(command.model_dump(mode="json")) == command


@pytest.mark.parametrize("written", MALFORMED)
def test_a_malformed_command_is_a_mistake_with_its_usage(written: str) -> None:
    [made] = read(f"/forge {written}")
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.malformed
    assert made.verb is not None
    assert made.verb == written.split()[0]
    assert made.usage == f"/forge {VERBS[made.verb].usage}"


@pytest.mark.parametrize(
    "written", ["explain", "explain F-AB1", "explain `F-AEGTUI`", "dismiss not a bug", "fix it", "confirm it"]
)
def test_outside_a_thread_a_finding_needs_its_name(written: str) -> None:
    [made] = read(f"/forge {written}")
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.no_finding


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("explain", AboutFinding(verb=Verb.explain)),
        ("explain F-AEGTUI", AboutFinding(verb=Verb.explain, finding="F-AEGTUI")),
        ("dismiss not a bug", Dismiss(reason="not a bug")),
        ("dismiss F-AEGTUI not a bug", Dismiss(finding="F-AEGTUI", reason="not a bug")),
        ("dismiss f-string is fine", Dismiss(reason="f-string is fine")),
        ("dismiss F-strings are fine", Dismiss(reason="F-strings are fine")),
        ("dismiss repository: vendored", Dismiss(scope="repository", reason="vendored")),
    ],
)
def test_in_a_thread_a_finding_needs_no_name(written: str, expected: SlashCommand) -> None:
    assert read(f"/forge {written}", in_thread=True) == (expected,)


@pytest.mark.parametrize("written", ["dismiss", "dismiss F-AEGTUI", "dismiss F-AEG not a bug", "explain F-A"])
def test_in_a_thread_half_a_name_is_not_a_reason(written: str) -> None:
    [made] = read(f"/forge {written}", in_thread=True)
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.malformed


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("aprove", Verb.approve),
        ("dismis F-AEGTUI x", Verb.dismiss),
        ("legitimate F-AEGTUI x", Verb.dismiss),
        ("whitelist F-AEGTUI file x", Verb.dismiss),
        ("violation F-AEGTUI x", Verb.confirm),
        ("Reviews", Verb.review),
        ("unpuase", Verb.unpause),
        ("approve.", Verb.approve),
        ("make-coffee", None),
        ("undo", Verb.rollback),
        ("revert that", Verb.rollback),
        ("resolve conflicts", Verb.update),
        ("merge main", Verb.update),
        ("fix the merge conflict", Verb.update),
        ("resolve the open threads", Verb.address),
        ("make it green", Verb.mend),
        ("fix the red build", Verb.mend),
        ("write some tests", Verb.tests),
        ("frobnicate it", None),
        ("x" * 5000, None),
    ],
)
def test_an_unknown_verb_names_the_nearest(written: str, nearest: Verb | None) -> None:
    [made] = read(f"/forge {written}")
    assert isinstance(made, SlashMistake)
    assert (made.problem, made.verb) == (Problem.unknown_verb, nearest)
    assert len(made.written) <= 200


def test_a_comment_that_begins_without_the_slash() -> None:
    [made] = read("forge do rename it\nand more")
    assert isinstance(made, SlashMistake)
    assert (made.problem, made.verb) == (Problem.near_miss, Verb.do)
    for sentence in ("Does\nforge do that?", "forge does that", "forge do", "Let forge do it"):
        assert read(sentence) == ()


def test_no_command_merges() -> None:
    [made] = read("/forge merge this")
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.merges


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("/forge do two things:\n- rename it\n- test it", "two things:\n- rename it\n- test it"),
        ("/forge do\n1. rename it\n\nAnd test it.", "1. rename it\n\nAnd test it."),
        (
            "/forge do it\r\n\r\n```\r\nif a:\r\n    b()\r\n/forge x\r\n```",
            "it\n\n```\nif a:\n    b()\n/forge x\n```",
        ),
        ("Hi.\n/forge do this\n> delete all\n\nnow", "this\n\nnow"),
        ("/forge do this<br>\nnow <!-- or\nnever --> here", "this<br>\nnow  here"),
        ("/forge do as in [this](https://example.org)", "as in [this](https://example.org)"),
        ("/forge do use `a\nb` here\nand there", "use `a\nb` here\nand there"),
    ],
)
def test_words_go_on_below_their_line(body: str, words: str) -> None:
    assert read(body) == (TextCommand(verb=Verb.do, text=words),)
    assert read(f"{body}\n\n/forge status") == (
        TextCommand(verb=Verb.do, text=words),
        PlainCommand(verb=Verb.status),
    )


def test_a_reason_goes_on_below_and_nothing_else_does() -> None:
    assert read("/forge dismiss F-AEGTUI wrong:\nit is bounded\n\nabove.") == (
        Dismiss(finding="F-AEGTUI", reason="wrong: it is bounded above."),
    )
    assert read("/forge dismiss F-AEGTUI\nit is bounded") == (Dismiss(finding="F-AEGTUI", reason="it is bounded"),)
    assert read("/forge approve\nplan") == (Approve(),)
    assert read("/forge approve plan\nThanks!") == (Approve(gate="plan"),)
    assert read("/forge approve with: no dots\n- nor dashes") == (Approve(conditions="no dots - nor dashes"),)
    assert read("/forge tests a.py\nThanks!") == (WriteTests(path="a.py"),)
    assert read("/forge mend\nthe + 1 is wanted") == (Mend(text="the + 1 is wanted"),)
    assert read("/forge status\nThanks!") == (PlainCommand(verb=Verb.status),)


@pytest.mark.parametrize("written", ["/forge", "/forge  ", "/FORGE"])
def test_no_verb(written: str) -> None:
    [made] = read(written)
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.no_verb


def test_spacing_and_case_are_tolerated() -> None:
    assert read("  /Forge\t REVIEW   full  ") == (AskReview(full=True),)


def test_several_commands_keep_their_order() -> None:
    body = "Thanks!\n/forge status\nand then\n\n/forge aprove\n/forge help"
    first, second, third = read(body)
    assert (first, third) == (PlainCommand(verb=Verb.status), AskHelp())
    assert isinstance(second, SlashMistake)


def test_a_comment_has_an_end() -> None:
    found = read("/forge status\n" * 100)
    assert len(found) == MOST_COMMANDS + 1
    last = found[-1]
    assert isinstance(last, SlashMistake)
    assert last.problem is Problem.too_many
    assert not any(isinstance(one, SlashMistake) for one in read("/forge status\n" * MOST_COMMANDS))


def test_a_text_has_an_end() -> None:
    assert read("/forge missed " + "x" * LONGEST_TEXT) == (Tell(verb=Verb.missed, text="x" * LONGEST_TEXT),)
    [made] = read("/forge missed " + "x" * (LONGEST_TEXT + 1))
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.too_long


WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="`*_<>[]!\\&~|@#:-"), min_size=1)


REASONS = WORDS.map(lambda text: " ".join(strip_invisible(text).split())).filter(
    lambda text: 0 < len(text) <= LONGEST_TEXT
)


@given(REASONS)
def test_any_plain_reason_arrives_as_it_was_written(reason: str) -> None:
    assert read(f"/forge dismiss F-AEGTUI {reason}") == (Dismiss(finding="F-AEGTUI", reason=reason),)


@given(st.text(max_size=300), st.booleans())
def test_no_text_breaks_the_parser(body: str, in_thread: bool) -> None:
    for asked in read("/forge " + body, in_thread):
        assert isinstance(asked, SlashMistake) or SLASH.validate_json(SLASH.dump_json(asked)) == asked


@pytest.mark.parametrize(
    "sentence",
    [
        "/forge: a bot that reviews pull requests",
        "/forge\u00a0is what we call it",
        "/forge-review is the folder of the prompts",
        "/forge-status page shows nothing",
        "/forge, review this please",
        "/forge_config.yml was moved",
        "/forged documents",
        "/forgery approve",
        "/forgetting things",
        "/forget it",
        "/forge.approve.py",
        "/forge/approve.py was moved",
        "/src/forge approve",
        "src/forge/approve.py",
        "https://example.org/forge/approve",
        "//forge approve",
        "@forge approve",
        "forge a plan",
        "Forge / review",
        "Please /froge approve",
        '"/forge approve"',
        "- [ ] /forge approve",
        "- `/forge approve`: says yes",
        "- /forge status: what happens now",
        "~~/forge approve~~",
        "/forge/status is a path",
        "\uff0fforge is written with a slash",
        "We use /forge\u00a0status for that",
        "\u00ab/forge\u00a0status\u00bb shows it",
        "> /forge\u00a0status",
        "`/forge-status`",
    ],
)
def test_a_sentence_about_forge_is_no_near_miss(sentence: str) -> None:
    assert read(sentence) == ()


@pytest.mark.parametrize(
    "written",
    [
        "/forgeapprove",
        "/forge\u200bapprove",
        "/forge.approve",
        "/forge=approve with: a test",
        "/forge;approve",
        "/forge\\_approve",
        "/forge@approve",
        "/forge\u2026approve",
        "/froge approve",
        "/forg approve",
        "/forgee approve",
        "/forg\u00e9 approve",
        "/frogeapprove",
        "/Forge-bot: hello\n/fogre approve",
        "**/forge approve**",
        "**/forge** approve",
        "_/forge approve_",
        "- /forge approve",
        "1. /forge approve",
        "Please:\n\n* **/forge approve**",
    ],
)
def test_what_is_a_command_but_for_a_letter_or_its_marks_gets_a_word(written: str) -> None:
    [made] = read(written)
    assert isinstance(made, SlashMistake)
    assert (made.problem, made.verb) == (Problem.near_miss, Verb.approve)


def test_a_verb_in_another_script_is_told_where_the_commands_are() -> None:
    [made] = read("/forge\u72b6\u6001")
    assert isinstance(made, SlashMistake)
    assert (made.problem, made.verb) == (Problem.unknown_verb, None)
