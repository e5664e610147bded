"""Estimates tokens without a tokenizer, because every provider has its own and none works offline."""

import re

_PIECES = re.compile(r"[A-Za-z]+|\d+|\n[ \t]*|[ \t]+|[^\sA-Za-z0-9\x80-\U0010ffff]+|[\x80-\U0010ffff]")


def estimate(text: str) -> int:
    """The approximate number of tokens of a text: one for six letters, three digits or two signs.

    Good enough to plan with and to compare texts; never used for money.
    """
    return sum(_estimate_piece(piece) for piece in _PIECES.findall(text))


def count_upper_bound(text: str) -> int:
    """The most tokens that any usual tokenizer makes of a text, so that no charge exceeds its reservation.

    All tokenizers begin with the bytes of the text and only join them. Base64, rare letters and other scripts come
    close to one token per byte.
    """
    return len(text.encode("utf-8", "replace"))


def _estimate_piece(piece: str) -> int:
    first = piece[0]
    if first.isascii() and first.isalpha():
        return -(-len(piece) // 6)
    if first.isdigit() and first.isascii():
        return -(-len(piece) // 3)
    if first in "\n \t":
        return 0 if piece == " " else 1  # a single space belongs to the next word
    return -(-len(piece) // 2) if first.isascii() else 1
