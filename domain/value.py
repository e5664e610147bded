"""The base of everything that is validated, a value that nobody changes, and the ids of values."""

import base64
import hashlib
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict
from ulid import ULID


class Value(BaseModel):
    """A value that nobody changes once it is made.

    What validates it is built when the first one is made: a server knows six hundred kinds and meets a part of them,
    and each that is built takes memory for as long as it runs.
    """

    if TYPE_CHECKING:  # code gives what a field says; that pydantic would convert more is for what comes from outside
        model_config = ConfigDict(frozen=True, strict=True)
    else:
        model_config = ConfigDict(frozen=True, defer_build=True)


def new_id() -> str:
    """A fresh ULID: 26 characters, sortable by time of creation."""
    return str(ULID())


def shorten_id(prefix: str, ulid: str) -> str:
    """The short form of a ULID, e.g. ``M-4ZK9QX`` (prefix and last 6 characters)."""
    return f"{prefix}-{ulid[-6:]}"


def make_finding_id(fingerprint: str, taken: Collection[str] = ()) -> str:
    """The name of a finding within its pull request.

    :param fingerprint: hexadecimal first fingerprint of the finding.
    :param taken: names already given to *other* fingerprints of the same pull request.
    :returns: ``F-`` and 6 base32 characters, free and the same for equal arguments.
    """
    salt = 0
    while True:
        material = fingerprint if salt == 0 else f"{fingerprint}/{salt}"
        digest = hashlib.sha256(material.encode()).digest()
        name = "F-" + base64.b32encode(digest).decode()[:6]
        if name not in taken:
            return name
        salt += 1


def lowest_id_at(moment: datetime) -> str:
    """The lower bound of all ULIDs made at or after a moment."""
    return str(ULID.from_datetime(moment))[:10]
