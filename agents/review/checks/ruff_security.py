"""Layer 2 for Python: flake8-bandit's rules in ruff, rated by ours from what is called with what."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from agents.review.checks import rule_texts
from agents.review.checks.inputs import is_test_or_document
from agents.review.checks.ruff_settings import NEWEST, RuffSettings, format_option
from agents.review.checks.rule_texts import Danger
from domain.review.findings import Severity

_MOST_LINES = 20  # of a call
_FURTHEST = 80  # lines back to what a name was given
_NEAR = 4  # lines
_DECODES = re.compile(r"b(?:16|32|64|85)decode|\ba2b_|fromhex|unhexlify|decompress|[\"']rot_?13|zlib|marshal")
_LOOKED_UP = re.compile(r"[A-Za-z_][\w.]*(?:\[|\.get\()")
_CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*|__\w+__")
_PROTECTS = re.compile(r"(?i)passw|passphrase|\bpwd|\bpw\b|secret|credential|token|signature|\bsign|hmac|authenticat")
_FOREIGN = re.compile(
    r"\b(request|req|argv|input\(|raw_input\(|query_params|querystring|query_string|GET\b|POST\b|cookies?|headers|recv"
    r"|stdin|payload|form\[|form\.|body\b|user_input)"
)
_FROM_FILE = re.compile(r"\bopen\(|\.read\(\)|\.read_(text|bytes)\(|read_file\(")
_LITERAL = re.compile(r"^[rRbBuU]{0,2}(\"\"\"|'''|\"|')(?:(?!\1).|\\.)*\1$", re.DOTALL)
_PUT_TOGETHER = re.compile(
    r"^[rR]?[fF][rR]?[\"'](?:(?!\{).)+\{(?!\{)|[\"']\s*(?:\+|%)|[\"']\.format\(|^[^\"']+\+[^\"']*[\"'][^+]*\+",
    re.DOTALL,
)
_FILE = re.compile(
    r"(?i)^(?:f|fp|fd|fh|fin|fileobj|(?:\w*_)?(?:file|stream|handle|reader)(?:_?(?:obj|handle|name|path))?)$"
)
_BUILDS = re.compile(r"^([^/]+/)*(setup\.py|docs?/([^/]+/)*conf\.py)$")
_OPENS_VERSION = re.compile(
    r"\bopen\([^\n]*[\"'][^\"'\n]*(?:version|about|metadata|__init__|release)[^\"'\n]*\.py[\"']"
)
_NAME = re.compile(r"^[A-Za-z_]\w*$")
_TEXT = re.compile(r"([rRbBuUfF]{0,2})(?:\"[^\"]*\"|'[^']*')")


def is_foreign(text: str) -> bool:
    """Whether an expression names what people or machines outside sent."""
    return _FOREIGN.search(text) is not None


def is_literal(text: str) -> bool:
    """Whether an expression is a text that stands in the program."""
    return _LITERAL.match(text) is not None


def is_put_together(text: str) -> bool:
    """Whether an expression puts something into a text, behind its beginning."""
    return _PUT_TOGETHER.search(text) is not None


def is_file(text: str) -> bool:
    """Whether an expression is named like an open file."""
    return _FILE.search(text) is not None


def is_read_from_a_file(text: str) -> bool:
    """Whether an expression reads a file."""
    return _FROM_FILE.search(text) is not None


class PythonCall:
    """A call of a file.

    :param lines: of the file.
    :param row: the line on which it begins, from 1. ``column``: likewise.
    """

    def __init__(self, lines: Sequence[str], row: int, column: int) -> None:
        self._lines = lines
        self._row = row
        some = "\n".join(lines[row - 1 : row - 1 + _MOST_LINES])
        self._rest = some[column - 1 :]

    def enclose(self, name: str) -> "PythonCall":
        """The call of this name whose argument begins here, or this one."""
        for row in range(self._row, max(self._row - _MOST_LINES, 0), -1):
            found = re.search(rf"[\w.]*\b{name}\s*\(", self._lines[row - 1])
            if found is not None:
                return PythonCall(self._lines, row, found.start() + 1)
        return self

    @cached_property
    def text(self) -> str:
        """The whole call, as it is written."""
        return self._rest[: _find_end(self._rest)]

    @property
    def name(self) -> str:
        """What is called, as ``subprocess.run``."""
        return self.text.partition("(")[0].strip()

    @cached_property
    def argument(self) -> str:
        """The first argument."""
        inner = self.text.partition("(")[2].removesuffix(")")
        return inner[: _find_end(inner, ",")].strip().rstrip(",").strip()

    def list_from_outside(self) -> list[str]:
        """The names in the first argument that come from outside."""
        names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", self.argument))
        return [name for name in names if name not in ("self", "cls", "f") and self.comes_from_outside(name)]

    def comes_from_outside(self, text: str) -> bool:
        """Whether an expression is a parameter of the function around, or was given what comes from outside."""
        if not _NAME.match(text):
            return False
        given, signature = self._trace(text)
        return is_foreign(given) or re.search(rf"[(,*]\s*{text}\s*[,:=)]", signature) is not None

    @property
    def value(self) -> str:
        """The first argument, or what its name was given last."""
        return (self._trace(self.argument)[0] if _NAME.match(self.argument) else "") or self.argument

    @property
    def is_unseen(self) -> bool:
        """Whether nobody can read what the first argument holds: it is decoded or looked up."""
        return _DECODES.search(self.value) is not None or _LOOKED_UP.match(self.value) is not None

    @property
    def is_constant(self) -> bool:
        """Whether only texts and constants of the program are in the first argument."""
        return all(map(_CONSTANT.fullmatch, re.findall(r"[A-Za-z_]\w*", _TEXT.sub(_keep_code, self.value))))

    @property
    def around(self) -> str:
        """The lines around it, with the head of its function if that is near."""
        return "\n".join(self._lines[max(self._row - 1 - _NEAR, 0) : self._row + 1])

    def _trace(self, name: str) -> tuple[str, str]:
        """What a name was given last, or the head of the function that it was not given anything in."""
        given = re.compile(rf"[ \t]*{name}\s*(?::[^=\n]+)?=(?!=)[ \t]*")
        for at in range(self._row - 2, max(self._row - 2 - _FURTHEST, -1), -1):
            some = "\n".join(self._lines[at : at + _MOST_LINES])
            if found := given.match(some):
                rest = some[found.end() :]
                return rest[: _find_end(rest, "\n")].strip(), ""
            if re.match(r"\s*(async\s+)?def\s", some):
                return "", some[: _find_end(some)]
        return "", ""


def _keep_code(text: re.Match[str]) -> str:
    """What an f-string puts in; of any other text nothing."""
    is_filled = "f" in text[1].lower()
    return f" {' '.join(re.findall(r'{([^{}]*)}', text[0]))} " if is_filled else " "


def _find_end(text: str, stop: str = "") -> int:
    """The end of the first thing in brackets, or the first sign to stop at outside of them."""
    depth, quote, at = 0, "", 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif quote:
            quote = "" if text.startswith(quote, at) else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0 and not stop:
                return at + 1
        elif char == stop and depth == 0:
            return at
        at += 1
    return len(text)


# Left out are rules of mostly useless findings: bare imports, asserts, `random`, every subprocess call and urlopen, SSL
# without a version, and the three that guess passwords (our own search for credentials is better at that and never
# quotes them). SQL is looked for in the tables of all languages.
_DANGERS = {
    Danger.command: "S602 S605",
    Danger.command_text: "S601",
    Danger.own_code: "S102 S307 S612",
    Danger.own_object: "S301 S302 S506",
    Danger.sql_text: "S610 S611",
    Danger.html: "S308 S701 S702 S704",
    Danger.debugger: "S201",
    Danger.unchecked_tls: "S323 S501 S507",
    Danger.weak_cipher: "S303 S304 S305 S312 S321 S324 S502 S503 S505 S508 S509",
    Danger.foreign_path: "S202 S306",
    Danger.lax_permission: "S103",
    Danger.hanging: "S113",
    Danger.exposed_port: "S104",
    Danger.unchecked: "S108 S110 S313 S314 S315 S316 S317 S318 S319",
}
_BY_RULE = {rule: danger for danger, rules in _DANGERS.items() for rule in rules.split()}
_GRADED = frozenset({"S102", "S301", "S302", "S303", "S307", "S308", "S324", "S506", "S602", "S605", "S704"})
_UNSAFE_LOADER = re.compile(r"yaml\.load\((?!.*Loader\s*=)|\byaml\.(?:C|Full|Unsafe)?Loader\b", re.DOTALL)
_COMMAND_LINE = re.compile(r"\bargs\s*[.\[]")  # as argparse gives it
_SEEMS_SAFE = "seems safe"  # how ruff calls a command that is a literal
_NAMING = re.compile(r"#\s*noqa\s*:\s*(?P<rules>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)", re.IGNORECASE)
_SILENCING = re.compile(r"#\s*nosec\b:?\s*(?P<tests>[BS]\d{3}(?:[\s,]+[BS]\d{3})*)?")

SETTINGS = RuffSettings(
    "", (format_option("target-version", NEWEST), format_option("lint", {"select": sorted(_BY_RULE)}))
)
"""Everybody's: a repository's own settings switch none of these rules off."""


def rate(entry: dict[str, Any], path: str, lines: Sequence[str], *, heeding: bool) -> Severity | None:
    """The severity of what ruff reports; None if it is not worth reporting. Tests may do what programs should not.

    :param entry: as ruff prints it.
    :param lines: of the file.
    :param heeding: whether comments that silence bandit count.
    """
    code = str(entry["code"])
    known = _BY_RULE.get(code)
    place = lines[entry["location"]["row"] - 1 : entry["end_location"]["row"]]
    if known is None or _SEEMS_SAFE in entry["message"] or (heeding and is_silenced(code, place)):
        return None
    call = PythonCall(lines, int(entry["location"]["row"]), int(entry["location"]["column"]))
    if code == "S202" and "members=" in "\n".join(place):
        return None  # what is extracted was chosen
    if code == "S102" and _runs_own_version(path, call):
        return None
    if code == "S506":
        call = call.enclose("load")
    danger = _look_closer(known, call) if code in _GRADED else known
    if danger is None:
        return None
    if is_test_or_document(path):
        return Severity.warning if danger is Danger.command else None
    return rule_texts.rate(danger)


def _runs_own_version(path: str, call: PythonCall) -> bool:
    """Whether what builds a package reads its version from a file of its own by running that."""
    is_read = is_read_from_a_file(call.value) and not call.is_unseen and not is_foreign(call.argument)
    is_own = _OPENS_VERSION.search(f"{call.around}\n{call.value}") is not None
    return _BUILDS.search(path) is not None and is_read and is_own


def is_silenced(code: str, place: Sequence[str]) -> bool:
    """Whether ``nosec`` stands beside it, or a ``noqa`` that names its rule.

    :param code: of the rule, as ``S602``.
    :param place: its lines.
    """
    text = "\n".join(place)
    if any(code in re.split(r"[\s,]+", found["rules"].upper()) for found in _NAMING.finditer(text)):
        return True
    found = _SILENCING.search(text)
    return found is not None and (found["tests"] is None or code[1:] in re.findall(r"\d{3}", found["tests"]))


def _look_closer(danger: Danger, call: PythonCall) -> Danger | None:
    """What it is, by what is called with what; None where nothing can come of it."""
    match danger:
        case Danger.own_code:
            return _rate_evaluation(call)
        case Danger.own_object:
            return _rate_loading(call)
        case Danger.html:
            return Danger.html if _puts_in(call) else Danger.own_html
        case Danger.weak_cipher:
            return Danger.weak_cipher if _PROTECTS.search(call.around) else Danger.weak_hash
        case _:
            return _rate_command(call)


def _rate_evaluation(call: PythonCall) -> Danger:
    text = call.argument
    if is_literal(text):
        return Danger.own_code
    if not is_read_from_a_file(text) and (is_foreign(text) or call.comes_from_outside(text)):
        return Danger.foreign_code
    return Danger.unseen_code if call.is_unseen else Danger.own_code


def _rate_loading(call: PythonCall) -> Danger | None:
    """What a function is given comes from somewhere; what it opened or kept itself is mostly the program's own."""
    text = call.argument
    if re.match(r"[\w.]*\bdumps\(", text):
        return None  # a copy
    if is_foreign(text):
        return Danger.foreign_object
    is_given = not is_read_from_a_file(text) and not is_file(text) and call.comes_from_outside(text)
    is_any_class = re.search(r"\bloads$", call.name) is not None or _UNSAFE_LOADER.search(call.text) is not None
    return Danger.foreign_object if is_given and is_any_class else Danger.kept_object


def _rate_command(call: PythonCall) -> Danger:
    """A command that is put together here from what comes from outside is grave, and one that was sent as a whole."""
    text = call.argument
    is_given = is_put_together(text) and (call.list_from_outside() or _COMMAND_LINE.search(text) is not None)
    if is_given or is_foreign(text):
        return Danger.command
    return Danger.own_command if call.is_constant else Danger.command_text


def _puts_in(call: PythonCall) -> bool:
    """Whether something from elsewhere is put into its text, here or where that got its name."""
    return is_foreign(call.value) or bool(call.list_from_outside()) or is_put_together(call.value)
