"""Caches answers with their ETag: if nothing changed, GitHub answers 304, which does not count against the limit."""

from collections import OrderedDict
from dataclasses import dataclass

from bot.github.transport import Answer

MAX_ENTRIES = 500
MAX_BODY = 256 * 1024  # bytes; larger answers are not worth the memory
MAX_BYTES = 16 * 1024 * 1024  # of all bodies


@dataclass(frozen=True)
class CachedAnswer:
    etag: str
    answer: Answer


class EtagCache:
    """The most recently used answers. The installation is part of the key, so none is ever served another's answer."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[tuple[int, str], CachedAnswer] = OrderedDict()

    def find(self, installation_id: int, url: str) -> CachedAnswer | None:
        seen = self._entries.get((installation_id, url))
        if seen is not None:
            self._entries.move_to_end((installation_id, url))
        return seen

    def keep(self, installation_id: int, url: str, answer: Answer) -> None:
        before = self._entries.pop((installation_id, url), None)
        self._bytes -= len(before.answer.body) if before else 0
        etag = answer.headers.get("etag")
        if not etag or answer.status != 200 or len(answer.body) > MAX_BODY:
            return
        self._entries[installation_id, url] = CachedAnswer(etag, answer)
        self._bytes += len(answer.body)
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= len(oldest.answer.body)
