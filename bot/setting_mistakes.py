"""Tells the operator which setting is wrong, and how, without its value."""

import difflib
from collections.abc import Collection, Iterable

from pydantic_core import ErrorDetails

from domain.errors import ConfigurationError

PREFIX = "FORGE_"
OF_APP = ("FORGE_APP_ID", "FORGE_PRIVATE_KEY", "FORGE_WEBHOOK_SECRET", "FORGE_CLIENT_ID", "FORGE_CLIENT_SECRET")
"""Settings that belong to one App on GitHub, and to no other."""


def refuse_unknown(variables: Iterable[str], fields: Collection[str]) -> None:
    """Refuse a misspelt setting, which would silently have no effect.

    :param fields: the names that there are, without prefix.
    :raises ConfigurationError: one of the variables is not a setting.
    """
    known = sorted(PREFIX + name.upper() for name in fields)
    for name in sorted(variables):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            nearest = difflib.get_close_matches(name.upper(), known, 1, cutoff=0.7)
            advice = f"Did you mean {nearest[0]}?" if nearest else "docs/operations.md lists them; unset this one."
            raise ConfigurationError(f"{name.upper()} is not a setting of Forge.", advice)


def explain(mistake: ErrorDetails) -> ConfigurationError:
    """Explain a mistake to the operator, without the value, which may be a secret."""
    name = PREFIX + "_".join(str(part) for part in mistake["loc"][:1]).upper()
    if mistake["type"] == "missing":
        advice = "Set it in the environment or in .env" + (", or run `forge setup`." if name in OF_APP else ".")
        return ConfigurationError(f"{name} is not set.", advice)
    if mistake["type"] == "too_short" or mistake["input"] == "":
        return ConfigurationError(f"{name} is empty.", "Give it a value in the environment or in .env.")
    limits = mistake.get("ctx", {})
    match mistake["type"]:
        case "int_parsing" | "int_from_float":
            what = "it must be a whole number"
        case "float_parsing" | "decimal_parsing" | "finite_number":
            what = "it must be a number"
        case "bool_parsing":
            what = "it must be true or false"
        case "literal_error" | "enum":
            what = f"it must be {limits['expected']}"
        case "greater_than":
            what = f"it must be more than {limits['gt']:g}"
        case "greater_than_equal":
            what = f"it must be {limits['ge']:g} or more"
        case "less_than_equal":
            what = f"it must be {limits['le']:g} or less"
        case "string_pattern_mismatch":
            what = "it must be PROVIDER:MODEL, e.g. anthropic:claude-haiku-5-5"
        case _:
            what = str(limits.get("error", mistake["msg"])).removeprefix("Value error, ")
    return ConfigurationError(f"{name} is wrong: {what}.", "See the settings in docs/operations.md.")
