"""Who may do what: the tables of docs/commands.md and docs/gates.md, per row who may and who may not."""

from dataclasses import replace

import pytest

from domain.gates import STANDARD_GATES, StandardGate
from domain.slash import SLASH, Approve, AskReview, Deploy, Dismiss, Level, Rollback, SlashCommand
from domain.verbs import Verb
from handlers.slash import read_line
from safety.authorization import (
    ROLES,
    AuthorizationFacts,
    CommandRefusal,
    GateRule,
    RefusalCode,
    authorise,
    is_waived,
    name_assent,
)
from safety.authorship import Doubt

LEAST = {
    "read": ["help", "status", "cost", "view", "history", "diff", "level", "why F-AEGTUI", "suggest"],
    "triage": ["review", "review full", "test", "explain F-AEGTUI"],
    "write": [
        *["dismiss F-AEGTUI x", "undismiss F-AEGTUI", "remember x", "forget M-4ZK9QX", "fix F-AEGTUI", "do x"],
        *["update", "address", "mend"],
        *["run", "plan", "retry", "resume", "cancel", "continue 5usd", "ask why x"],
        *["confirm F-AEGTUI x", "dismiss F-AEGTUI file: x"],
        *["accept", "abort", "missed x", "rollback C-4ZK9QX"],
        *["describe", "describe apply", "tests", "changelog", "walkthrough"],
    ],
    "maintain": ["deploy production", "rollback production", "approve", "reject x", "delegate @ann"],
    "admin": ["level 3", "pause", "unpause"],
}
ROWS = [(written, least) for least, rows in LEAST.items() for written in rows]


def _parse_command(written: str) -> SlashCommand:
    return SLASH.validate_python(read_line(f"/forge {written}"))


def _code(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule | None = None) -> RefusalCode | None:
    refused = authorise(asked, facts) if gate is None else authorise(asked, facts, gate)
    return None if refused is None else refused.code


def test_every_verb_has_a_row() -> None:
    assert {_parse_command(written).verb for written, _ in ROWS} == set(Verb)


@pytest.mark.parametrize(("written", "least"), ROWS)
def test_the_least_role_may_and_the_one_below_may_not(written: str, least: str) -> None:
    asked = _parse_command(written)
    for role in ROLES:
        expected = None if ROLES.index(role) >= ROLES.index(least) else RefusalCode.role
        assert _code(asked, AuthorizationFacts(role)) is expected
    below = authorise(asked, AuthorizationFacts("none"))
    assert below == CommandRefusal(code=RefusalCode.role, verb=asked.verb, needed=least, held="none")


@pytest.mark.parametrize("role", ["", "owner", "ADMIN", "release engineer"])
def test_an_unknown_role_counts_as_none(role: str) -> None:
    commands = [_parse_command(written) for written, _ in ROWS]
    assert {_code(each, AuthorizationFacts(role)) for each in commands} == {RefusalCode.role}


def test_neither_apps_nor_edits_command() -> None:
    commands = [_parse_command(written) for written, _ in ROWS]
    assert {_code(each, AuthorizationFacts("admin", is_app=True)) for each in commands} == {RefusalCode.app}
    assert {_code(each, AuthorizationFacts("admin", is_edited=True)) for each in commands} == {RefusalCode.edited}


@pytest.mark.parametrize("written", ["review", "review full", "test"])
def test_on_a_fork_without_an_ok_it_takes_write(written: str) -> None:
    asked = _parse_command(written)
    refused = authorise(asked, AuthorizationFacts("triage", needs_ok=True))
    assert refused is not None
    assert (refused.needed, refused.fork) == ("write", True)
    assert _code(asked, AuthorizationFacts("write", needs_ok=True)) is None
    assert _code(asked, AuthorizationFacts("triage", needs_ok=False)) is None


def test_a_fork_asks_no_more_of_what_runs_nothing() -> None:
    assert _code(_parse_command("status"), AuthorizationFacts("read", needs_ok=True)) is None
    assert _code(_parse_command("explain F-AEGTUI"), AuthorizationFacts("triage", needs_ok=True)) is None


@pytest.mark.parametrize("written", ["dismiss F-AEGTUI x", "remember x", "forget M-4ZK9QX"])
def test_the_author_does_not_teach(written: str) -> None:
    assert _code(_parse_command(written), AuthorizationFacts("admin", is_author=True)) is RefusalCode.author
    assert _code(_parse_command(written), AuthorizationFacts("write")) is None


def test_the_author_describes_their_own_change_and_nothing_more() -> None:
    """As GitHub lets whoever opened a pull request edit its description, whatever their role."""
    author = AuthorizationFacts("read", is_author=True)
    assert _code(_parse_command("describe apply"), author) is None
    assert _code(_parse_command("describe"), replace(author, is_edited=True)) is RefusalCode.edited
    assert [_code(_parse_command(verb), author) for verb in ("tests", "walkthrough")] == 2 * [RefusalCode.role]


def test_the_author_does_not_dismiss_but_takes_back() -> None:
    author = AuthorizationFacts("admin", is_author=True)
    assert _code(Dismiss(reason="x"), author) is RefusalCode.author
    assert _code(_parse_command("undismiss F-AEGTUI"), author) is None
    assert _code(AskReview(), author) is None


def test_where_nobody_else_could_the_author_does() -> None:
    alone = AuthorizationFacts("admin", is_author=True, is_alone=True)
    assert _code(Dismiss(reason="x"), alone) is None
    assert is_waived(Dismiss(reason="x"), alone)
    assert not is_waived(AskReview(), alone)
    assert not is_waived(Dismiss(reason="x"), AuthorizationFacts("admin", is_alone=True))
    assert _code(Dismiss(reason="x"), AuthorizationFacts("triage", is_author=True, is_alone=True)) is RefusalCode.role


@pytest.mark.parametrize(("name", "standard"), STANDARD_GATES.items())
def test_gates(name: str, standard: StandardGate) -> None:
    """T-P1 and T-P2: below the gate's role nobody decides, and not the author where it says so."""
    gate = GateRule(standard.role, standard.not_author, standard.not_requester)
    below = ROLES[ROLES.index(gate.role) - 1]
    assert _code(Approve(gate=name), AuthorizationFacts(gate.role), gate) is None
    assert _code(Approve(gate=name), AuthorizationFacts(below), gate) is RefusalCode.role
    author = AuthorizationFacts("admin", is_author=True)
    assert _code(Approve(gate=name), author, gate) is (RefusalCode.author if gate.not_author else None)
    requester = AuthorizationFacts("admin", is_requester=True)
    assert _code(Approve(gate=name), requester, gate) is (RefusalCode.requester if gate.not_requester else None)


def test_a_gate_nobody_described_takes_the_strictest() -> None:
    assert _code(Approve(), AuthorizationFacts("write")) is RefusalCode.role
    assert _code(Approve(), AuthorizationFacts("maintain", is_author=True)) is RefusalCode.author
    assert _code(Approve(), AuthorizationFacts("maintain")) is None


def test_production_takes_maintain_and_elsewhere_write_is_enough() -> None:
    for asked in (Deploy(environment="staging"), Rollback(environment="staging")):
        assert _code(asked, AuthorizationFacts("write", is_production=False)) is None
        assert _code(asked, AuthorizationFacts("write", is_production=True)) is RefusalCode.role
    assert _code(Level(level=0), AuthorizationFacts("maintain")) is RefusalCode.role


@pytest.mark.parametrize("wish", [None, "hold", "go-on", "cancel"])
def test_whoever_may_deploy_may_steer_it_and_an_unknown_environment_is_production(wish: str | None) -> None:
    asked = SLASH.validate_python({"verb": "deploy", "environment": "nowhere", "wish": wish})
    assert _code(asked, AuthorizationFacts("write")) is RefusalCode.role
    assert _code(asked, AuthorizationFacts("maintain")) is None
    assert _code(asked, AuthorizationFacts("write", is_production=False)) is None


def test_a_rollback_to_a_checkpoint_deploys_nothing() -> None:
    assert _code(Rollback(checkpoint="C-4ZK9QX"), AuthorizationFacts("write", is_production=True)) is None


def test_what_takes_two_people() -> None:
    doubtful = AuthorizationFacts("admin", doubt=Doubt.app, assent="x")
    refused = authorise(Dismiss(reason="x"), doubtful)
    assert refused is not None
    assert (refused.code, refused.doubt, refused.assent) == (RefusalCode.second, Doubt.app, "x")
    assert _code(Dismiss(reason="x"), replace(doubtful, has_second=True)) is None
    assert _code(AskReview(), doubtful) is None
    for written in ("confirm F-AEGTUI x", "reject x"):  # what lets nothing pass
        assert _code(_parse_command(written), doubtful) is None
    both = AuthorizationFacts("admin", is_author=True, is_alone=True, doubt=Doubt.shared)
    assert _code(Dismiss(reason="x"), both) is RefusalCode.second
    assert not is_waived(Dismiss(reason="x"), both)


def test_the_same_may_be_said_for_other_reasons() -> None:
    said = name_assent(Dismiss(finding="F-AEGTUI", reason="x"), "a")
    assert said == name_assent(Dismiss(finding="F-AEGTUI", reason="y"), "a")
    assert said != name_assent(Dismiss(finding="F-AEGTUX", reason="x"), "a")
    assert said != name_assent(Dismiss(finding="F-AEGTUI", reason="x"), "b")
    assert said != name_assent(Dismiss(finding="F-AEGTUI", reason="x"), "a", "thread")
    assert name_assent(Approve(), "a", "g") == name_assent(Approve(gate="x", conditions="y", sha="a"), "a", "g")
