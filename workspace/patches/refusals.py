"""Says why a patch is refused, so that its author can correct it, and which paths an agent may not change."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from domain.errors import ForgeError, Recovery
from domain.review.findings import Severity as Grade
from domain.runs.patches import Constraint, Violation
from domain.text.hidden_characters import is_invisible
from workspace.diff import to_printable

LONGEST, LONGEST_PART = 1_024, 255  # bytes
_NTFS_SHORT = re.compile(r"gi[^.]{0,5}~[0-9]+")  # names that NTFS may also give to .git
_SEPARATORS = frozenset({"Zl", "Zp"})
_AS_EMOJI = "\ufe0f"  # shows the symbol before it in colours
_KEYCAP = "\u20e3"


def find_mistake(path: str) -> str | None:
    """What is wrong with a path, as the rest of a sentence about it; None if it is a valid one inside."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "is not UTF-8"
    if not path:
        return "is empty"
    if size > LONGEST:
        return f"is longer than {LONGEST:,} bytes"
    if _hides(path):
        return "holds a control character or one that cannot be seen"
    if "\\" in path:
        return "holds a backslash, and folders are separated by “/”"
    return _parts_mistake(path.split("/"))


def _hides(path: str) -> bool:
    if path.isascii():
        return not path.isprintable()
    neighbours = zip(f" {path[:-1]}", path, f"{path[1:]} ", strict=True)
    return any(_cannot_be_seen(each) and not _makes_emoji(before, each, after) for before, each, after in neighbours)


def _cannot_be_seen(character: str) -> bool:
    return is_invisible(character) or unicodedata.category(character) in _SEPARATORS


def _makes_emoji(before: str, character: str, after: str) -> bool:
    """Whether a character belongs to an emoji, as names of honest files hold them; elsewhere it hides."""
    return character == _AS_EMOJI and (unicodedata.category(before) in {"So", "Sm"} or after == _KEYCAP)


def _parts_mistake(parts: list[str]) -> str | None:
    if not parts[0] or re.fullmatch(r"[A-Za-z]:", parts[0]):
        return "is absolute, and paths begin at the root of the repository"
    if parts[0] == "~":
        return "begins in a home folder, and paths begin at the root of the repository"
    if {"", ".", ".."} & set(parts):
        return "holds “.”, “..” or nothing as a folder, so it could lead elsewhere"
    if any(len(part.encode()) > LONGEST_PART for part in parts):
        return f"holds a name longer than {LONGEST_PART} bytes"
    if any(is_git(part) for part in parts):
        return "leads into .git, or a disk could take it for that"
    return None


def is_git(part: str) -> bool:
    """Whether some file system takes a name for ``.git``.

    HFS+ and APFS ignore invisible characters; NTFS ignores trailing dots and spaces, and knows streams and short names.
    All of them may ignore case.
    """
    visible = "".join(character for character in part if not _cannot_be_seen(character))
    plain = unicodedata.normalize("NFKC", visible).casefold().split(":")[0].rstrip(". ")
    return plain == ".git" or _NTFS_SHORT.fullmatch(plain) is not None


def folders(path: str) -> Iterable[str]:
    """The folders a path leads through, from the root down."""
    end = path.find("/")
    while end != -1:
        yield path[:end]
        end = path.find("/", end + 1)


class PatchRefused(ForgeError):
    """A patch was refused, and nothing of it was applied.

    :param violations: the reasons, at least one.
    """

    recovery = Recovery.fallback

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(str(each) for each in self.violations))


def show_path(path: str) -> str:
    """A path as violations name it."""
    return to_printable(path.encode("utf-8", "surrogatepass"))[:300]


def violation(file: str, constraint: Constraint, grade: Grade, message: str, suggestion: str) -> Violation:
    """A violation with a printable path."""
    shown = show_path(file)
    return Violation(file=shown, constraint=constraint, severity=grade, message=message, suggestion=suggestion)


def refusal(file: str, constraint: Constraint, message: str, suggestion: str) -> PatchRefused:
    """The refusal of a whole patch for one reason."""
    return PatchRefused([violation(file, constraint, Grade.error, message, suggestion)])
