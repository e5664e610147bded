"""How grave each kind of danger is, and the texts of the most frequent rules: why they matter, what to do."""

import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from domain.review.findings import Severity
from domain.text.escaping import cut_words, flatten_text


class Danger(StrEnum):
    """A kind of danger, as developers call it."""

    # Somebody else's text becomes code.
    sql_value = "a value put into the text of a statement of SQL"
    sql_text = "a list or a part put into the text of a statement of SQL"
    sql_foreign_name = "a name from outside, put into the text of a statement of SQL"
    sql_name = "a name put into the text of a statement of SQL"
    command = "a value put into the text of a command for a shell"
    command_text = "a command for a shell that may be put together elsewhere"
    own_command = "a command for a shell that only the program puts together"
    foreign_code = "text from outside, evaluated as code"
    unseen_code = "text evaluated as code that cannot be read where it runs"
    own_code = "text evaluated as code that may be the program's own"
    foreign_object = "objects of any class, built from data from outside"
    kept_object = "objects of any class, built from what the program kept itself"
    own_object = "objects of any class, built from a file that may be the program's own"
    file_inclusion = "a file run as code that the request chooses"
    open_script = "a script run from the network that anybody on the way can replace"
    remote_script = "a script run from the network"
    html = "a value put into HTML or a template as it is"
    own_html = "HTML that may be the program's own"
    debugger = "pages that let visitors run code"
    # Others can listen, or take a name.
    unchecked_tls = "a certificate or a key of a host that nobody checks"
    weak_cipher = "a cipher, hash or protocol that can be broken"
    weak_hash = "a hash that can be broken, where nothing says that it protects something"
    open_workflow = "a workflow that strangers can use"
    exposed_secret = "a secret that everybody can read who gets the product"
    # Files and memory.
    overflow = "a write past the end of memory"
    memory = "memory that may be written past its end"
    foreign_path = "a path that others choose"
    lax_permission = "permissions that are wider than needed"
    unverified_package = "a program or package that nobody verified"
    every_right = "a workflow that may change everything here"
    open_right = "a workflow that strangers start, with whatever rights are usual here"
    lost_files = "files deleted where a variable is empty"
    # What is only worth a look.
    hanging = "a call that may never end"
    needless_right = "a right that a workflow does not need"
    exposed_port = "a service open to every network"
    unchecked = "code that neither compiler nor reader checked"


_ERRORS = frozenset(
    {
        Danger.sql_value,
        Danger.sql_foreign_name,
        Danger.command,
        Danger.foreign_code,
        Danger.foreign_object,
        Danger.file_inclusion,
        Danger.open_script,
        Danger.open_workflow,
        Danger.exposed_secret,
        Danger.overflow,
    }
)
_REMARKS = frozenset(
    {
        *(Danger.own_command, Danger.own_code, Danger.kept_object, Danger.own_html, Danger.weak_hash),
        *(Danger.exposed_port, Danger.needless_right, Danger.unchecked),
    }
)
"""What programs mostly do for good reasons: see `tests/bench/wild/README.md`."""


def rate(danger: Danger) -> Severity:
    """The severity of every finding of a kind."""
    if danger in _ERRORS:
        return Severity.error
    return Severity.info if danger in _REMARKS else Severity.warning


_LONGEST = 500

_TEXTS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def build_message(rule: str, said: str) -> str:
    """The message of a finding: bounded, without invisible characters.

    :param rule: full rule id.
    :param said: the tool's own sentence.
    """
    if replacement := _TEXTS["replacements"].get(rule):
        return replacement
    flat = shorten(said).rstrip(" .")
    advice = _TEXTS["advice"].get(rule)
    return shorten(f"{flat}. {advice}") if advice else flat + "."


def describe_rule(rule: str) -> str:
    """The text that all findings of a rule share; empty if there is none."""
    return _TEXTS["replacements"].get(rule) or _TEXTS["advice"].get(rule, "")


def name_some(names: Sequence[str]) -> str:
    """The first three of some names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")


def shorten(text: str, limit: int = _LONGEST) -> str:
    """One line of at most ``limit`` characters."""
    return cut_words(flatten_text(text[: 4 * limit]), limit)
