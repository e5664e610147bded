"""Recognises binary contents, and converts UTF-16 and UTF-32 with a byte order mark to UTF-8."""

import codecs

_MARKS = (  # UTF-32 first, because its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def to_utf8(content: bytes) -> bytes:
    """The content in UTF-8 if a byte order mark declares another Unicode encoding; otherwise unchanged."""
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)
    return content if encoding is None else content.decode(encoding, "replace").encode()


def looks_binary(content: bytes) -> bool:
    """Whether git, and so GitHub, treats a content as binary (git's ``buffer_is_binary``)."""
    return b"\0" in content[:8000]
