"""Names Forge's branch for an issue."""

import re
import unicodedata

from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing

PREFIX = "forge/"
_LONGEST = 40  # characters of the slug
_READ = 1_000  # characters read of the title; GitHub takes 256
_APOSTROPHE = re.compile("['’ʼ`]")
_OTHER = re.compile(r"[^a-z0-9]+")


def make_branch_name(number: int, title: str) -> str:
    """``forge/ISSUE-slug``: a valid branch name for every title.

    Of the title only ``a-z``, ``0-9`` and single dashes are left, which no rule of git's forbids
    (https://git-scm.com/docs/git-check-ref-format); if nothing is left it is ``forge/ISSUE``.
    """
    slug = _slug(title)
    return f"{PREFIX}{number}-{slug}" if slug else f"{PREFIX}{number}"


def add_suffix(branch: str, number: int) -> str:
    """Another name if the branch exists, e.g. ``forge/12-discounts-2``.

    :param number: from 2 on.
    """
    return f"{branch}-{number}"


def _slug(title: str) -> str:
    # Branch names are public, so they must not contain secrets.
    plain = unicodedata.normalize("NFKD", redact_outgoing(strip_invisible(title[:_READ])).casefold())
    letters = "".join(c for c in _APOSTROPHE.sub("", plain) if not unicodedata.combining(c))
    return _cut(_OTHER.sub("-", letters).strip("-"))


def _cut(slug: str) -> str:
    """At most so many characters, at the end of a word if there is one."""
    if len(slug) <= _LONGEST:
        return slug
    words, _, _ = slug[: _LONGEST + 1].rpartition("-")
    return words or slug[:_LONGEST]
