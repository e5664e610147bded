"""Reads stack traces of common languages: the type of the error, and the frames, the place where it happened first."""

import re
from collections.abc import Iterator

from domain.value import Value

MOST_FRAMES = 50
LONGEST_LINE = 1_000
"""Characters of a line that are read; what follows is left out."""

_TRACEBACK = "Traceback (most recent call last)"  # Python; the place where it happened comes last
_FRAMES = tuple(
    re.compile(form)
    for form in (
        r'\s*File "(?P<path>[^"]{1,300})", line (?P<line>\d{1,7})(?:, in (?P<function>.{1,200}))?$',  # Python
        r"\s*at (?P<function>[\w$.<>/@-]{1,300})\((?P<path>[\w$-]{1,200}\.\w{1,10})(?::(?P<line>\d{1,7}))?\)",  # Java
        r"\s*at (?P<function>[^()]{1,200}\([^()]{0,300}\)) in (?P<path>.{1,300}):line (?P<line>\d{1,7})$",  # .NET
        r"\s*at (?:async )?(?P<function>[^()]{1,200}) \((?P<path>[^()]{1,300}?):(?P<line>\d{1,7}):\d{1,7}\)$",  # Node
        r"\s*at (?:async )?(?P<path>[^()]{1,300}?):(?P<line>\d{1,7}):\d{1,7}$",  # Node without a name, Rust
        r"(?P<function>[^@\s]{0,200})@(?P<path>\S{1,300}?):(?P<line>\d{1,7}):\d{1,7}$",  # Firefox, Safari
        r"\s*(?:from )?(?P<path>[^\s:]{1,300}):(?P<line>\d{1,7}):in [`'](?P<function>[^']{1,200})'",  # Ruby
        r"\s*#\d{1,4} (?P<path>[^(]{1,300})\((?P<line>\d{1,7})\): (?P<function>[^(]{1,200})",  # PHP
        r"\s+(?P<path>\S{1,300}\.go):(?P<line>\d{1,7})(?: \+0x[0-9a-f]{1,16})?$",  # Go
    )
)
_LAST_LINE = re.compile(r"(?P<name>[A-Za-z_][\w.]{0,150})(?::|$)")
_NAMED = re.compile(
    r"\s*(?:Exception in thread \"[^\"]{0,200}\" |Uncaught |Unhandled exception[.:] |PHP Fatal error:\s{1,4}Uncaught )?"
    r"(?P<name>[A-Za-z_$][\w.$\\]{0,150}?(?:Error|Exception|Fault|Failure|Interrupt|Throwable))(?=:|\s|$)"
)
_RUBY = re.compile(r":in [`'][^']{1,200}'.{0,800}\((?P<name>[A-Z][\w:]{0,150})\)$")
_PANIC = re.compile(r"(?:panic: |thread '[^']{0,200}' panicked|fatal error: )")


class Frame(Value):
    """One call.

    :param path: with slashes, as the service knows it.
    :param function: its name without arguments; empty if it has none.
    """

    path: str
    line: int | None = None
    function: str = ""


class StackTrace(Value):
    """What a stack says.

    :param exception: type of the error; empty if it names none.
    :param frames: the place where it happened first.
    """

    exception: str = ""
    frames: tuple[Frame, ...] = ()


def parse_stack(text: str) -> StackTrace:
    """Read a stack. Of several errors it is about the one that was raised last, as each language prints it."""
    is_python = _TRACEBACK in text
    lines = [line[:LONGEST_LINE].rstrip() for line in text.rpartition(_TRACEBACK)[2].splitlines()]
    frames = list(_list_frames(lines))
    if is_python:
        frames.reverse()
    exception = _find_python_exception(lines) if is_python else _find_exception(lines)
    return StackTrace(exception=exception, frames=tuple(frames[:MOST_FRAMES]))


def _list_frames(lines: list[str]) -> Iterator[Frame]:
    for number, line in enumerate(lines):
        match = next((found for form in _FRAMES if (found := form.match(line))), None)
        if match is None:
            continue
        parts = match.groupdict()
        function = parts.get("function") or ""
        if not function and parts["path"].endswith(".go") and number:  # Go names it in the line before
            function = lines[number - 1]
        number_read = parts.get("line")
        yield Frame(
            path=_read_path(parts["path"]),
            line=None if number_read is None else int(number_read),
            function=function.rpartition("(")[0].strip() if function.endswith(")") else function.strip(),
        )


def _read_path(shown: str) -> str:
    """A path without what browsers and bundlers put around it."""
    bare = re.sub(r"^(?:file|https?|webpack|webpack-internal|app)://[^/]{0,200}", "", shown.strip())
    return re.sub(r"[?#].*$", "", bare.replace("\\", "/"))


def _find_python_exception(lines: list[str]) -> str:
    found = [match["name"] for line in lines if (match := _LAST_LINE.match(line))]
    return found[0] if found else ""


def _find_exception(lines: list[str]) -> str:
    for line in lines:
        if _PANIC.match(line):
            return "panic"
        match = _RUBY.search(line) or _NAMED.match(line)
        if match is not None:
            return match["name"]
    return ""
