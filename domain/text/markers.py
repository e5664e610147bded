"""Hidden, signed markers with which Forge recognises its own comments."""

import hashlib
import hmac


class Markers:
    """Makes markers that only this App can make.

    A marker counts only in a comment by the App: others can copy one but not make one.

    :param secret: the App's own key material.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = hashlib.sha256(b"forge marker\0" + secret).digest()

    def make(self, kind: str, run_id: str) -> str:
        """Makes the marker for a run's text, an HTML comment."""
        signature = hmac.new(self._key, f"{kind}\0{run_id}".encode(), hashlib.sha256).hexdigest()[:24]
        return f"<!-- forge:{kind}:{run_id}:{signature} -->"
