"""Presets set limits and a maximum level; files override them, ceilings cap them all."""

import pytest

from domain.config.configuration import Configuration, Preset, find_contradictions
from domain.config.presets import PRESETS, Values, apply_ceilings, build, build_conservative, merge, tighten
from domain.config.sections import ReadMode


@pytest.mark.parametrize("preset", Preset)
def test_each_preset_is_valid_and_leaves_the_level_alone(preset: Preset) -> None:
    configuration = build({"preset": preset.value})
    assert not list(find_contradictions(configuration))
    assert configuration.preset is preset
    assert configuration.ladder.pinned is None


def test_standard_is_the_defaults() -> None:
    assert build() == build({"preset": "standard"}) == Configuration()


def test_numbers_of_the_presets() -> None:
    careful, bold, production = (build({"preset": name}) for name in ("conservative", "aggressive", "production"))
    calls = careful.breakers.iteration
    assert (calls.planning, calls.implementation, calls.testing, calls.review) == (10, 25, 3, 10)
    assert (careful.budgets.run, careful.budgets.day, careful.ladder.max_level) == (25, 100, 1)
    assert (bold.breakers.iteration.implementation, bold.breakers.iteration.testing) == (100, 10)
    assert (bold.budgets.run, bold.budgets.day, bold.ladder.max_level) == (100, 500, 3)
    assert production.ladder.max_level == 2
    assert {name: gate.timeout for name, gate in production.gates.items()} == {
        "any_deploy": "30m",
        "large_change": "4h",
    }


def test_what_a_file_says_wins_over_its_preset() -> None:
    configuration = build({"preset": "conservative", "budgets": {"run": 30}})
    assert (configuration.budgets.run, configuration.budgets.day) == (30, 100)


def test_files_are_merged_key_by_key_and_lists_taken_whole() -> None:
    below: Values = {"review": {"bots": ["a", "b"], "drafts": True}, "budgets": {"day": 10}}
    above: Values = {"review": {"bots": ["c"]}, "budgets": {"run": 1}}
    assert merge(below, above) == {"review": {"bots": ["c"], "drafts": True}, "budgets": {"day": 10, "run": 1}}
    assert build({"preset": "conservative"}, {"preset": "aggressive"}).budgets.day == 500


def test_ceilings_cap_and_never_raise() -> None:
    configuration = build({"budgets": {"day": 1000, "run": 5}, "commands": {"network": True}})
    held = apply_ceilings(configuration, {"budgets.day": 100, "budgets.run": 50, "commands.network": False})
    assert (held.budgets.day, held.budgets.run, held.commands.network) == (100, 5, False)


@pytest.mark.parametrize("path", ["budgets.week", "nothing", "review.bots", "preset"])
def test_a_ceiling_for_nothing_is_an_error(path: str) -> None:
    with pytest.raises(KeyError):
        apply_ceilings(Configuration(), {path: 1})


def test_a_pinned_level_stays_within_the_ladder() -> None:
    assert apply_ceilings(build({"ladder": {"pinned": 4}}), {"ladder.max_level": 2}).ladder.pinned == 2
    assert apply_ceilings(build({"ladder": {"pinned": 0}}), {"ladder.max_level": 2}).ladder.pinned == 0


def test_conservative_never_goes_beyond_its_preset_and_keeps_what_is_stricter() -> None:
    held = build_conservative(
        {"budgets": {"day": 999, "run": 3}, "ladder": {"max_level": 4}, "review": {"model": False}}
    )
    assert (held.budgets.day, held.budgets.run, held.ladder.max_level) == (100, 3, 1)
    assert held.review.model is ReadMode.never


def test_presets_say_nothing_but_limits_gates_and_a_maximum_level() -> None:
    assert {key for values in PRESETS.values() for key in values} == {"breakers", "budgets", "gates", "ladder"}


def test_what_is_forbidden_later_is_added_and_nothing_is_loosened() -> None:
    began = build(
        {"review": {"never_send": ["a"], "max_comments": 3}, "paths": {"protected": ["p"]}, "budgets": {"run": 5}}
    )
    loose = build({"review": {"max_comments": 9}, "budgets": {"run": 50}})
    assert tighten(began, loose) == began
    strict = build(
        {
            "review": {"never_send": ["b", "a"], "dry_run": True, "model": False},
            "paths": {"protected": ["q"]},
            "memory": {"enabled": False},
        }
    )
    held = tighten(began, strict)
    assert (held.review.never_send, held.paths.protected) == (("a", "b"), ("p", "q"))
    assert (held.review.dry_run, held.memory.enabled) == (True, False)
    assert held.review.model == strict.review.model != began.review.model
    assert (held.review.max_comments, held.budgets.run) == (3, 5)
    assert tighten(strict, loose).review.dry_run


def test_what_agents_may_not_run_any_more_they_do_not_run() -> None:
    began = build({"execution": {"commands": ["python *", "npm run build", "make"]}})
    later = build({"execution": {"commands": ["npm run *", "make", "go *"]}})
    assert tighten(began, later).execution.commands == ("npm run build", "make")
    assert tighten(later, build({})).execution.commands == ()
