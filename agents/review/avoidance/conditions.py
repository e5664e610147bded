"""Says under which circumstances a condition of compilation holds, such as ``!windows && integration``."""

import re
from collections.abc import Callable

_TOKENS = re.compile(r'&&|\|\||!=|==|!|\(|\)|,|[\w.:-]+(?:\s*=\s*"[^"]*")?')
_MOST = 60
"""Tokens of a condition; a longer one is written by no person."""
Holds = Callable[[str], bool]


def holds(condition: str, is_set: Holds) -> bool:
    """Whether a condition of Go, Rust or C# holds; one that cannot be read does.

    :param is_set: whether a name in it does.
    """
    tokens = _TOKENS.findall(condition)
    if not 0 < len(tokens) <= _MOST:
        return True
    return _Condition(tokens, is_set).read_any()


class _Condition:
    """Reads the tokens of a condition from left to right."""

    def __init__(self, tokens: list[str], is_set: Holds) -> None:
        self._tokens = [*reversed(tokens)]
        self._is_set = is_set

    def read_any(self) -> bool:
        found = self._read_all()
        while self._take("||"):
            other = self._read_all()
            found = found or other
        return found

    def _read_all(self) -> bool:
        found = self._read_one()
        while self._take("&&"):
            other = self._read_one()
            found = found and other
        return found

    def _read_one(self) -> bool:
        if self._take("!"):
            return not self._read_one()
        if self._take("("):
            return self._read_list()[0]
        if not self._tokens:
            return True
        name = self._tokens.pop()
        if name in _FUNCTIONS and self._take("("):
            return _FUNCTIONS[name](self._read_list())
        return self._is_set(name)

    def _read_list(self) -> list[bool]:
        """What stands between brackets, of which the first is read."""
        found = [self.read_any()]
        while self._take(","):
            found.append(self.read_any())
        self._take(")")
        return found

    def _take(self, token: str) -> bool:
        is_next = bool(self._tokens) and self._tokens[-1] == token
        if is_next:
            self._tokens.pop()
        return is_next


_FUNCTIONS: dict[str, Callable[[list[bool]], bool]] = {"all": all, "any": any, "not": lambda found: not found[0]}
