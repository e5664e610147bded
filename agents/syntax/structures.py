"""Decides of files without a grammar, and of version numbers, whether a change leaves the program as it was."""

import json
import re
import tomllib
from typing import Any
from xml.etree import ElementTree

_NUMBER = r"v?\d[\w.+!-]{0,40}"
_QUOTED = rf"[\"']({_NUMBER})[\"']"
_IN_PYTHON = rf"^(?:__version__[ \t]*=[ \t]*{_QUOTED}|__version_info__[ \t]*=[ \t]*\(([\w.\"', ]*)\)"
_VERSIONS = (
    (r"(^|/)setup\.py$", rf"{_IN_PYTHON}|[ \t]+version={_QUOTED},?)[ \t]*$"),
    (r"(^|/)docs?/(.*/)?conf\.py$", rf"{_IN_PYTHON}|(?:version|release)[ \t]*=[ \t]*{_QUOTED})[ \t]*$"),
    (r"\.py$", rf"{_IN_PYTHON})[ \t]*$"),
    (r"(^|/)version\.rb$", rf"^[ \t]*VERSION[ \t]*=[ \t]*{_QUOTED}(?:\.freeze)?[ \t]*$"),
    (r"(^|/)setup\.cfg$", rf"^version[ \t]*=[ \t]*({_NUMBER})[ \t]*$"),
    (r"(^|/)package\.json$", rf"^[ \t]+\"version\"[ \t]*:[ \t]*{_QUOTED},?[ \t]*$"),
    (r"(^|/)(pyproject|Cargo)\.toml$", rf"^version[ \t]*=[ \t]*{_QUOTED}(?=[ \t]*(?:#.*)?$)"),
)
"""The names of files, and how they write the version of their own program."""
STRUCTURED = (".xml", ".toml", "setup.cfg")
"""How the names of files end that are compared without a grammar."""
_NOT_PLAIN = re.compile(r"<!DOCTYPE|<!\[CDATA\[|\bxml:space\b")
_COMMENT_OF_XML = re.compile(r"<!--(.*?)-->", re.DOTALL)


def changes_only_version(path: str, base: str, head: str) -> bool:
    """Whether nothing but the version number of the program itself differs; that of a dependency counts as more."""
    written = next((re.compile(how, re.MULTILINE) for name, how in _VERSIONS if re.search(name, path)), None)
    if written is None or base == head or written.sub("=", base) != written.sub("=", head):
        return False
    return not path.endswith((".json", ".toml")) or all(
        written.findall(each) == _list_own(path, each) for each in (base, head)
    )


def _list_own(path: str, text: str) -> list[str]:
    """The version that a manifest gives its program, where it gives it one."""
    try:
        table: Any = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
        parts = [table, table.get("project"), table.get("package"), table.get("tool", {}).get("poetry")]
        return [each["version"] for each in parts if each and "version" in each]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []


def read_xml(text: str) -> tuple[str, list[str]] | None:
    """What a file holds beside layout and comments, and the lines of its comments; None if that is unknown.

    What a document type, a section of characters or kept spaces make of the text, a grammar would have to tell.
    """
    if _NOT_PLAIN.search(text):
        return None
    try:
        inside = re.sub(r">\s+<", "><", ElementTree.canonicalize(text))
    except (ValueError, RecursionError, ElementTree.ParseError):
        return None
    declared = re.match(r"<\?xml[^>]*>", text)
    comments = [line for each in _COMMENT_OF_XML.findall(text) for line in each.split("\n")]
    return f"{declared[0] if declared else ''}{inside}", comments
