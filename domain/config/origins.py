"""Says of each value of the effective configuration where it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue, ValidationError

from domain.config import schema
from domain.config.configuration import Configuration, Preset
from domain.config.presets import PRESETS, Values, build, flatten, merge


class ValueOrigin(StrEnum):
    """Where a value comes from, the weakest first."""

    default = "default"
    preset = "preset"
    organisation = "organisation"  # the file of the owner's repository `.github`
    repository = "repository"  # its own file
    held = "held"  # a file with mistakes protects more, or the preset `conservative` limits it
    ceiling = "ceiling"  # the operator allows no more


@dataclass(frozen=True)
class ConfiguredValue:
    """A value that holds.

    :param path: its keys, dotted.
    :param wanted: what the files say, if something else holds.
    """

    path: str
    value: JsonValue
    origin: ValueOrigin
    description: str = ""
    wanted: JsonValue = None


def trace_origins(
    effective: Configuration, below: Values, own: Values, ceilings: Mapping[str, float]
) -> Sequence[ConfiguredValue]:
    """Every value that holds, in the order of the schema.

    :param below: of the organisation's file; ``own`` of the repository's.
    :param ceilings: the operator's limits by dotted path.
    """
    together = merge(below, own)
    preset = Preset(str(together["preset"])) if together.get("preset") in set(Preset) else Preset.standard
    layers = [(ValueOrigin.repository, flatten(own)), (ValueOrigin.organisation, flatten(below))]
    layers.append((ValueOrigin.preset, flatten(PRESETS[preset])))
    wanted = _build_wanted(below, own)
    found: list[ConfiguredValue] = []
    for path, value in flatten(effective.model_dump(mode="json")).items():
        said = wanted.get(path, value)
        described = str((schema.find_node(path.split(".")) or {}).get("description", ""))
        if said != value:
            origin = ValueOrigin.ceiling if path in ceilings or path == "ladder.pinned" else ValueOrigin.held
            found.append(ConfiguredValue(path, value, origin, described, said))
        else:
            origin = next((name for name, values in layers if path in values), ValueOrigin.default)
            found.append(ConfiguredValue(path, value, origin, described))
    return found


def _build_wanted(below: Values, own: Values) -> Mapping[str, JsonValue]:
    try:
        return flatten(build(below, own).model_dump(mode="json"))
    except ValidationError:  # the rules became stricter since
        return {}
