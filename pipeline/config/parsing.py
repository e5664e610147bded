"""Parses a configuration file into the configuration that holds, or says line by line what is wrong with it."""

import difflib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import JsonValue, ValidationError

from domain.config import configuration
from domain.config.configuration import Configuration, find_contradictions, find_idle_keys
from domain.config.presets import NOTHING, Values, apply_protections, build, build_conservative, extract_protections
from domain.config.values import MAX_MISTAKES, Contradiction, Mistake, to_dotted_path
from domain.text.escaping import cut_text
from messages import config as config_texts
from pipeline.config.yaml import Path, Tree, read_yaml

PATH = config_texts.PATH

_UNKNOWN, _MISSING = "extra_forbidden", "missing"  # kinds of pydantic's errors
_OLD_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


@dataclass(frozen=True)
class Parsed:
    """The result of parsing a file.

    :param configuration: its values over its preset and the organisation's file; None if there are mistakes.
    :param mistakes: from top to bottom, at most 20.
    :param values: of the file alone.
    :param idle: valid keys that have no effect in this version, from top to bottom.
    """

    configuration: Configuration | None
    mistakes: tuple[Mistake, ...] = ()
    values: Values = field(default_factory=dict[str, JsonValue])
    idle: tuple[Mistake, ...] = ()


class Source(StrEnum):
    """Where the effective configuration comes from."""

    repository = "repository"  # its file as it is on the default branch
    last_valid = "last_valid"  # its file as it was before it broke
    organisation = "organisation"  # it has no file, the organisation has
    preset = "preset"  # standard where there is no file, conservative where it was never valid


@dataclass(frozen=True)
class LoadedConfiguration:
    """The effective configuration.

    :param problem: what is wrong with a file that is not used, in sentences for people.
    :param below: the values of the organisation's file, for parsing another version of the repository's.
    """

    configuration: Configuration
    source: Source = Source.preset
    problem: str | None = None
    below: Values = field(default_factory=dict[str, JsonValue])


def parse(content: bytes, below: Values = NOTHING) -> Parsed:
    """The configuration of a file, or its mistakes.

    :param below: the values of the organisation's file.
    """
    tree = read_yaml(content)
    values = tree.value if isinstance(tree.value, dict) else {}
    found = [*tree.mistakes, *_check_is_section(tree)]
    told = {mistake.path for mistake in found}
    values = _drop_empty(values, ())
    configuration, more = _build(tree, values, below)
    found += [mistake for mistake in more if mistake.path not in told]
    if found:
        return Parsed(None, tuple(sorted(found)[:MAX_MISTAKES]), values)
    return Parsed(configuration, (), values, tuple(sorted(_locate(tree, one) for one in find_idle_keys(values))))


def load_from_checkout(content: bytes | None) -> LoadedConfiguration:
    """The configuration of a local checkout. There is no last valid version, and no organisation."""
    parsed = Parsed(build()) if content is None else parse(content)
    if parsed.configuration is not None:
        return LoadedConfiguration(parsed.configuration, Source.preset if content is None else Source.repository)
    protects = extract_protections(parsed.values)
    problem = config_texts.not_used(parsed.mistakes, None) + config_texts.still_holds(protects)
    return LoadedConfiguration(apply_protections(build_conservative(), protects), Source.preset, problem)


def _check_is_section(tree: Tree) -> Iterator[Mistake]:
    if tree.value is not None and not isinstance(tree.value, dict):
        yield Mistake(1, 1, "", f"is {_describe_value(tree.value)}", "sections such as `review:`")


def _drop_empty(values: dict[str, JsonValue], place: Path) -> dict[str, JsonValue]:
    """The values without empty sections and lists, whose content people commented out."""
    kept: dict[str, JsonValue] = {}
    for key, value in values.items():
        there = (*place, key)
        if value is None and (configuration.find_node(there) or {}).get("type") in {"object", "array"}:
            continue
        kept[key] = _drop_empty(value, there) if isinstance(value, dict) else value
    return kept


def _build(tree: Tree, values: Values, below: Values) -> tuple[Configuration | None, list[Mistake]]:
    try:
        configuration = build(below, values)
    except ValidationError as error:
        errors: list[dict[str, Any]] = [dict(one) for one in error.errors(include_url=False)]
        elsewhere = _find_contradictions_elsewhere(values, below, {one["loc"][:2] for one in errors})
        return None, [*_build_mistakes(tree, errors), *(_locate(tree, one) for one in elsewhere)]
    return configuration, [_locate(tree, one) for one in find_contradictions(configuration)]


def _find_contradictions_elsewhere(values: Values, below: Values, wrong: Collection[Path]) -> list[Contradiction]:
    """What contradicts itself in the other parts of a file, so that people are told of all mistakes at once.

    :param wrong: the parts with wrong keys or values, a section or what stands in one.
    """
    right = {
        key: {name: part for name, part in value.items() if (key, name) not in wrong}
        if isinstance(value, dict)
        else value
        for key, value in values.items()
        if (key,) not in wrong and (isinstance(value, dict) or key not in {path[0] for path in wrong})
    }
    try:
        configuration = build(below, right)
    except ValidationError:
        return []
    return [one for one in find_contradictions(configuration) if not {one.path[:1], one.path[:2]} & {*wrong}]


def _locate(tree: Tree, one: Contradiction) -> Mistake:
    spot = tree.find_position(one.path)
    return Mistake(spot.line, spot.column, to_dotted_path(one.path), one.what, one.allowed, one.nearest)


def _build_mistakes(tree: Tree, errors: Sequence[dict[str, Any]]) -> Iterator[Mistake]:
    """One for each mistake that people made: what a misspelt key was meant to be does not lack as well."""
    built = [(error, _build_mistake(tree, error)) for error in errors]
    meant = {(*error["loc"][:-1], mistake.nearest) for error, mistake in built if error["type"] == _UNKNOWN}
    return (mistake for error, mistake in built if error["type"] != _MISSING or error["loc"] not in meant)


def _build_mistake(tree: Tree, error: dict[str, Any]) -> Mistake:
    """A mistake that pydantic found, in our words, with its place in the file."""
    place: Path = tuple(step for step in error["loc"] if step != "[key]")
    kind = error["type"]
    about_key = kind == _UNKNOWN or "[key]" in error["loc"]
    if kind == _MISSING:
        place, what, allowed, nearest = place[:-1], f"lacks `{place[-1]}`", "", ""
    elif about_key:
        what, allowed, nearest = _describe_wrong_key(place)
    else:
        what, allowed, nearest = _describe_wrong_value(place, kind, error)
    spot = tree.find_position(place, key=about_key)
    return Mistake(spot.line, spot.column, to_dotted_path(place), what, allowed, nearest)


def _describe_wrong_key(place: Path) -> tuple[str, str, str]:
    known = configuration.list_keys(place[:-1])
    listed = ", ".join(f"`{key}`" for key in known)
    named = (configuration.find_node(place[:-1]) or {}).get("propertyNames")
    if named is not None:
        return "is not a name that can stand here", configuration.describe({"type": "string", **named}), ""
    return "is not a key here", listed or "nothing yet", _find_nearest(str(place[-1]), known)


def _describe_wrong_value(place: Path, kind: str, error: dict[str, Any]) -> tuple[str, str, str]:
    node = configuration.drop_null(configuration.find_node(place) or {})
    allowed = configuration.describe(node)
    value: JsonValue = error["input"]
    if kind == "value_error":
        return str(error["ctx"]["error"]), allowed, ""
    if kind in {"too_long", "too_short"}:
        bound = "at most" if kind == "too_long" else "at least"
        return f"has {len(value) if isinstance(value, (list, dict)) else 0} entries", f"{bound} {_get_bound(error)}", ""
    if kind == "bool_type" and isinstance(value, str) and value.casefold() in _OLD_BOOLEANS:
        return f"is `{value}`, which is text in YAML 1.2", allowed, ""
    if kind == "string_pattern_mismatch":
        return f"is {_describe_value(value)}, which does not match `{error['ctx']['pattern']}`", allowed, ""
    choices = [str(choice) for choice in node.get("enum", ())]
    return f"is {_describe_value(value)}", allowed, _find_nearest(str(value), choices)


def _get_bound(error: dict[str, Any]) -> int:
    context: dict[str, int] = error["ctx"]
    return context["max_length"] if "max_length" in context else context["min_length"]


def _find_nearest(word: str, known: list[str]) -> str:
    return next(iter(difflib.get_close_matches(word[:100], known, 1)), "")


def _describe_value(value: JsonValue) -> str:
    """A value as a mistake names it."""
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        flat = " ".join(value.split()).replace("`", "'")
        return f"the text `{cut_text(flat, 40)}`" if flat else "empty text"
    return f"`{json.dumps(value)}`"
