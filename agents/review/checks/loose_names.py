"""Names that a file of Python has though no linter finds them: it asks for them, executes them, or is given them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from domain.paths import is_test

EXPECTS_MISSING = re.compile(r"\s*except(?:\s*:|\b.*\b(?:ImportError|ModuleNotFoundError|NameError|Exception)\b)")
"""A clause for a name or a module that may be missing."""
TELLS_PYTHONS_APART = re.compile(r"\bversion_info\b|\bsys\.version\b|\bPY_?[23]K?\b|\bsix\b")
_TRY = re.compile(r"\s*try\s*:")
_ASKS = re.compile(r"\s+(?:\w+\s*=\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:\(\))?\s*(?:#.*)?")
_EXECUTES = re.compile(r"\s*exec(?:file)?\s*\((?!.*,\s*[\w.]+\s*\)\s*$)")  # into no other names
_DEFINES = re.compile(r"\s*(?:async\s+def|def|class)\b")
_OF_TYPE_CHECKERS = frozenset({"reveal_type", "reveal_locals"})
"""These know it, and so does what runs their tests."""
_COLLECTED = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")


@dataclass(frozen=True)
class LooseNames:
    """What one file says of such names.

    :param tells_pythons_apart: whether it asks which Python runs it, so that names of another one are meant.
    :param asked: names that it asks for in a ``try``, as modules do that IPython may load, or of a type checker.
    :param executed_from: the line, from 1, from which on it may have any name that it executed; None if it has none.
    :param is_given_all: whether it is data of tests, which run it with names of theirs.
    """

    tells_pythons_apart: bool
    asked: frozenset[str]
    executed_from: int | None
    is_given_all: bool

    @classmethod
    def of(cls, path: str, lines: Sequence[str]) -> "LooseNames":
        """What a file says, each line looked at once."""
        said = [line for line in lines if line.strip()]
        asked = {
            found["name"]
            for (first, second), (_, third) in pairwise(pairwise(said))
            if _TRY.match(first) and EXPECTS_MISSING.match(third) and (found := _ASKS.fullmatch(second))
        }
        is_data = is_test(path) and not _COLLECTED.search(path) and not any(map(_DEFINES.match, lines))
        if is_test(path):
            asked |= _OF_TYPE_CHECKERS
        executes = (at for at, line in enumerate(lines, 1) if _EXECUTES.match(line))
        apart = any(map(TELLS_PYTHONS_APART.search, lines))
        return cls(apart, frozenset(asked), next(executes, None), is_data)

    def hold(self, name: str, line: int) -> bool:
        """Whether a name may be there at a line, from 1."""
        is_executed = self.executed_from is not None and self.executed_from < line
        return self.is_given_all or is_executed or name in self.asked
