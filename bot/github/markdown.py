"""Shortens Markdown without leaving a code fence, a folded section or a comment open."""

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_DETAILS = re.compile(r"<(/?)details\b[^>]*>", re.IGNORECASE)
_NOTE = "\n\n*Shortened: GitHub shows no more than {limit:,} characters here.*"
_ROOM_FOR_CLOSING = 500  # characters


def shorten(text: str, limit: int) -> str:
    """``text`` if it fits; otherwise its beginning up to the end of a line, with what is open closed, and a note.

    :param limit: characters, at least 1,000.
    """
    if len(text) <= limit:
        return text
    note = _NOTE.format(limit=limit)
    kept = _whole_lines(text[: limit - len(note) - _ROOM_FOR_CLOSING])
    closing = _close_open(kept)
    if len(closing) > _ROOM_FOR_CLOSING:  # nested absurdly deep: show it as it is rather than not at all
        closing = ""
    return kept + closing + note


def shorten_plain(text: str, limit: int) -> str:
    """Plain text of at most ``limit`` characters, with an ellipsis if something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shorten_bytes(text: str, limit: int) -> str:
    """Plain text of at most ``limit`` bytes of UTF-8, never ending inside a character."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - 3].decode(errors="ignore") + "…"


def _whole_lines(text: str) -> str:
    end = text.rfind("\n", len(text) // 2)  # a very long line is cut inside rather than lost
    return text if end < 0 else text[:end]


def _close_open(text: str) -> str:
    """The text that closes everything that ``text`` leaves open, innermost first."""
    fence, prose = _open_fence(text)
    parts: list[str] = [f"\n{fence}"] if fence else []
    if prose.rfind("<!--") > prose.rfind("-->"):
        parts.append("\n-->")
    depth = 0
    for tag in _DETAILS.finditer(prose):
        depth = max(0, depth - 1 if tag[1] else depth + 1)
    return "".join(parts) + "\n\n</details>" * depth


def _open_fence(text: str) -> tuple[str, str]:
    """The fence that is still open at the end, or an empty text, and all lines outside fences."""
    fence = ""
    prose: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not fence:
            fence = found[1] if found else ""
            prose += [] if found else [line]
        elif found and found[1].startswith(fence) and not line[found.end() :].strip():
            fence = ""
    return fence, "\n".join(prose)
