"""Keeps answers with their ETag, so that asking again costs nothing when nothing changed (a 304 is free)."""

from collections import OrderedDict
from dataclasses import dataclass

from bot.github.transport import Answer

MAX_ENTRIES = 500
MAX_BODY = 256 * 1024  # bytes; larger answers are not worth the memory


@dataclass(frozen=True)
class Seen:
    etag: str
    answer: Answer


class EtagCache:
    """The most recently used answers. The installation is part of the key: none is ever served another's answer."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[int, str], Seen] = OrderedDict()

    def find(self, installation_id: int, url: str) -> Seen | None:
        seen = self._entries.get((installation_id, url))
        if seen is not None:
            self._entries.move_to_end((installation_id, url))
        return seen

    def keep(self, installation_id: int, url: str, answer: Answer) -> None:
        etag = answer.headers.get("etag")
        if not etag or answer.status != 200 or len(answer.body) > MAX_BODY:
            self._entries.pop((installation_id, url), None)
            return
        self._entries[installation_id, url] = Seen(etag, answer)
        self._entries.move_to_end((installation_id, url))
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)
