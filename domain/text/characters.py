"""Which characters nobody sees."""

import re
import unicodedata

INVISIBLE = frozenset({"Cf", "Cc", "Co", "Cs"})
# Other invisible characters: variation selectors, fillers, joiners, the plane of tags.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def is_invisible(character: str) -> bool:
    """Whether a character is a control, bidirectional or another one that cannot be seen."""
    return unicodedata.category(character) in INVISIBLE or BLANK.match(character) is not None
