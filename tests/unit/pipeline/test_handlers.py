"""Each command, and each verb that works, has one function for it, and each effect belongs to the right verbs."""

from typing import get_args

from domain.commands import AnyCommand
from domain.verbs import VERBS, Effect, Verb
from pipeline.deliveries import dispatch
from pipeline.deliveries.commands.executor import HANDLERS


def test_every_command_has_a_handler() -> None:
    commands, _ = get_args(AnyCommand)
    assert set(dispatch.HANDLERS) == set(get_args(commands))


def test_every_working_verb_has_a_handler() -> None:
    assert set(HANDLERS) == set(VERBS)


def test_what_a_gate_decides_goes_to_the_gate() -> None:
    assert {verb for verb, handler in HANDLERS.items() if handler is HANDLERS[Verb.approve]} == _list_verbs(
        Effect.answers_gate
    )
    assert {verb for verb, row in VERBS.items() if row.role.is_gates} <= _list_verbs(Effect.answers_gate)


def test_what_is_executed_twice_only_reads() -> None:
    reads = {Verb.help, Verb.status, Verb.cost, Verb.view, Verb.history, Verb.diff, Verb.suggest}
    assert _list_verbs(Effect.reads_only) == reads
    assert all(VERBS[verb].effects == {Effect.reads_only} for verb in _list_verbs(Effect.reads_only))


def test_what_judges_has_no_effect_of_its_own_where_it_is_refused() -> None:
    """A refused judgement must not evaluate the automation level; an answer at a gate always does."""
    assert _list_verbs(Effect.judges_findings) == {Verb.dismiss, Verb.undismiss, Verb.confirm, Verb.forget}
    assert not _list_verbs(Effect.judges_findings) & _list_verbs(Effect.counts_for_level)
    assert _list_verbs(Effect.counts_for_level) == {Verb.approve, Verb.reject, Verb.missed}


def _list_verbs(effect: Effect) -> set[Verb]:
    return {verb for verb, row in VERBS.items() if effect in row.effects}
