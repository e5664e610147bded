"""Knows text that only looks binary: UTF-16 and UTF-32 with a mark, and source with a NUL byte in it."""

import codecs

_MARKS = (  # of UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def to_utf8(content: bytes) -> bytes:
    """The content in UTF-8 if it says that it is in another Unicode encoding; else as it is."""
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)
    return content if encoding is None else content.decode(encoding, "replace").encode()


def looks_binary(content: bytes) -> bool:
    """Whether git, and so GitHub, takes a content for binary (git's ``buffer_is_binary``)."""
    return b"\0" in content[:8000]
