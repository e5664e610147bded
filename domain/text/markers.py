"""Hidden, signed markers by which Forge knows its own comments again after a crash."""

import hashlib
import hmac


class Markers:
    """Makes markers that only this App can make.

    A marker counts only in a comment whose author is the App: others may copy it, nobody can invent one.

    :param secret: the App's own key material.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = hashlib.sha256(b"forge marker\0" + secret).digest()

    def make(self, kind: str, run_id: str) -> str:
        """The marker for what a run writes, an HTML comment."""
        signature = hmac.new(self._key, f"{kind}\0{run_id}".encode(), hashlib.sha256).hexdigest()[:24]
        return f"<!-- forge:{kind}:{run_id}:{signature} -->"
