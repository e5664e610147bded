"""Builds the effective configuration from all its sources."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from pydantic import JsonValue

from domain import globs
from domain.config.configuration import Configuration, Preset
from domain.config.limits import narrow_globs
from domain.config.sections import ReadMode

Values = Mapping[str, JsonValue]
"""The values of a file: keys to scalars, lists and further mappings."""

NOTHING: Values = MappingProxyType({})

_LONGEST, _MOST = 200, 200  # characters of a pattern, and patterns of a list

PRESETS: Mapping[Preset, Values] = {
    Preset.conservative: {
        "breakers": {"iteration": {"planning": 10, "implementation": 25, "testing": 3}},
        "budgets": {"run": 25, "day": 100},
        "ladder": {"max_level": 1},
    },
    Preset.standard: {},
    Preset.aggressive: {
        "breakers": {"iteration": {"implementation": 100, "testing": 10}},
        "budgets": {"run": 100, "day": 500},
        "ladder": {"max_level": 3},
    },
    Preset.production: {
        "gates": {
            "any_deploy": {
                "phase": "deployment",
                "when": 'deployment.cause != "rollback"',
                "prompt": "Approve this deployment.",
                "timeout": "30m",
            },
            "large_change": {
                "phase": "review",
                "when": "review.lines_changed > 500",
                "prompt": "This is a large change. Review it.",
                "timeout": "4h",
            },
        },
        "ladder": {"max_level": 2},
    },
}
"""Limits, gates and a maximum level; never the level itself."""


def merge(below: Values, above: Values) -> dict[str, JsonValue]:
    """Merges two files key by key: ``above`` wins, lists are not merged."""
    together = dict(below)
    for key, value in above.items():
        beneath = together.get(key)
        together[key] = merge(beneath, value) if isinstance(beneath, dict) and isinstance(value, dict) else value
    return together


def apply_preset(values: Values) -> dict[str, JsonValue]:
    """The values on top of those of their preset."""
    preset = values.get("preset")
    known = isinstance(preset, str) and preset in set(Preset)
    return merge(PRESETS[Preset(preset)] if known else NOTHING, values)


def build(*layers: Values) -> Configuration:
    """Builds the configuration of several files, the strongest last, on top of their preset.

    :raises ValidationError: if a value is invalid, alone or together with others.
    """
    together: Values = NOTHING
    for layer in layers:
        together = merge(together, layer)
    return Configuration.model_validate_json(json.dumps(apply_preset(together)), strict=True)


def flatten(values: Values, prefix: str = "") -> dict[str, JsonValue]:
    """Each value by the dotted path of its keys; lists stay whole."""
    flat: dict[str, JsonValue] = {}
    for key, value in values.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) and value else {f"{prefix}{key}": value}
    return flat


def apply_ceilings(configuration: Configuration, ceilings: Mapping[str, float]) -> Configuration:
    """Caps the numbers of a configuration and its pinned level at the ceilings.

    :param ceilings: by dotted path, e.g. ``{"budgets.day": 100}``; ``False`` keeps a switch off.
    :raises KeyError: if a path cannot have a ceiling.
    """
    values = cast(dict[str, JsonValue], configuration.model_dump(mode="json"))
    for path, ceiling in ceilings.items():
        *sections, key = path.split(".")
        section = values
        for name in sections:
            section = cast(dict[str, JsonValue], section[name])
        value = section[key]
        if not isinstance(value, int | float):
            raise KeyError(path)
        section[key] = min(value, ceiling)
    return _lower_pinned_level(Configuration.model_validate(values))


def build_conservative(*layers: Values) -> Configuration:
    """The configuration if a file was never valid: the layers, limited by the preset conservative."""
    limits = flatten(PRESETS[Preset.conservative])
    return apply_ceilings(
        build(*layers, {"preset": Preset.conservative.value}),
        {path: limit for path, limit in limits.items() if isinstance(limit, int | float)},
    )


def tighten(began: Configuration, now: Configuration) -> Configuration:
    """The configuration of a run's start plus later prohibitions.

    Later prohibitions about sending and protecting files, the model, comments and learning apply to
    a waiting run, and agents may not run what is not allowed any more; limits, gates and commands stay as at its start.
    """
    execution = {"commands": narrow_globs(began.execution.commands, now.execution.commands)}
    review = {
        "never_send": _unite(began.review.never_send, now.review.never_send),
        "dry_run": began.review.dry_run or now.review.dry_run,
        "model": now.review.model if now.review.model is ReadMode.never else began.review.model,
    }
    return began.model_copy(
        update={
            "review": began.review.model_copy(update=review),
            "paths": began.paths.model_copy(update={"protected": _unite(began.paths.protected, now.paths.protected)}),
            "memory": now.memory if not now.memory.enabled else began.memory,
            "execution": began.execution.model_copy(update=execution),
        }
    )


_FORBIDS: Mapping[str, tuple[JsonValue, ...]] = {
    "review.model": (False, "never"),
    "review.dry_run": (True,),
    "labels.run": (None,),
    "issues.run": (False,),
    "memory.enabled": (False,),
}
"""By dotted path, the values that switch something off."""
_PROTECTS = ("review.never_send", "paths.protected")


def extract_protections(*refused: Values) -> dict[str, JsonValue]:
    """Extracts the protections of ignored files, by dotted path, as far as each value is readable.

    :param refused: the files' values; any may be invalid.
    """
    held: dict[str, JsonValue] = {}
    for values in refused:
        values_by_path = flatten(values)
        held |= {
            path: values_by_path[path]
            for path, off in _FORBIDS.items()
            if path in values_by_path and _is_one_of(values_by_path[path], off)
        }
        for path in _PROTECTS:
            listed = values_by_path.get(path)
            patterns = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
            before = held.get(path)
            repaired = [pattern for each in patterns[:_MOST] for pattern in globs.repair(each[: _LONGEST + 1])]
            readable = [each for each in repaired if len(each) <= _LONGEST]
            together = list(dict.fromkeys([*(before if isinstance(before, list) else []), *readable]))
            held |= {path: cast(JsonValue, together)} if together else {}
    return held


def _is_one_of(value: JsonValue, wanted: tuple[JsonValue, ...]) -> bool:
    """Whether it is one of these, of the same type: 0 is not false."""
    return any(type(value) is type(each) and value == each for each in wanted)


def apply_protections(configuration: Configuration, held: Values) -> Configuration:
    """Adds the result of :func:`extract_protections` to the configuration."""
    values = cast(dict[str, JsonValue], configuration.model_dump(mode="json"))
    for path, value in held.items():
        section, key = path.split(".")
        into = cast(dict[str, JsonValue], values[section])
        known = into[key]
        both = list(dict.fromkeys([*known, *value])) if isinstance(known, list) and isinstance(value, list) else value
        into[key] = both[:_MOST] if isinstance(both, list) else both
    return Configuration.model_validate(values)


def _unite(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _lower_pinned_level(configuration: Configuration) -> Configuration:
    ladder = configuration.ladder
    if ladder.pinned is None or ladder.pinned <= ladder.max_level:
        return configuration
    return configuration.model_copy(update={"ladder": ladder.model_copy(update={"pinned": ladder.max_level})})
