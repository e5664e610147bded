"""Makes text from tools and pull requests inert before it is shown to people (invariant 11)."""

import re
import unicodedata

_ANSI = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?")
_MENTION = re.compile(r"@(?=[A-Za-z0-9_])")
_REFERENCE = re.compile(r"#(?=\d)|(?<=\w)/(?=\S+#\d)|GH-(?=\d)", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_INVISIBLE = {"Cf", "Cc", "Co", "Cs"}
_JOINER = "\u200b"  # zero-width space: keeps GitHub from seeing a mention or a reference


def visible(text: str) -> str:
    """The text without ANSI sequences, control, bidirectional and other invisible characters; line breaks stay."""
    plain = _ANSI.sub("", text)
    return "".join(c for c in plain if c in "\n\t" or unicodedata.category(c) not in _INVISIBLE)


def prose(text: str, limit: int = 600) -> str:
    """One paragraph of Markdown in which nothing pings, closes, links, renders HTML or breaks out.

    :param limit: characters kept.
    """
    flat = " ".join(visible(text).split())
    if len(flat) > limit:
        flat = flat[: limit - 1].rstrip() + "…"
    flat = _LINK.sub(r"\1", flat).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
    flat = _MENTION.sub("@" + _JOINER, flat)
    return _REFERENCE.sub(lambda match: match.group() + _JOINER, flat)


def code(text: str, limit: int = 200) -> str:
    """Inline code that cannot be broken out of."""
    flat = " ".join(visible(text).split())[:limit].replace("|", "\\|")
    if not flat:
        return "` `"
    fence = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{space}{flat}{space}{fence}"


def block(text: str, language: str = "") -> str:
    """A fenced block that cannot be broken out of. Its content is kept to the letter, line breaks included."""
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}" if text else f"{fence}{language}\n{fence}"
