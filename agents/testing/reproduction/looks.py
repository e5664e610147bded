"""Finds code that looks at what runs it: a test that passes on such code says nothing of how it behaves elsewhere."""

import re
from collections.abc import Mapping

_TESTED = (
    r"(?i:pytest|unittest|doctest|nosetest|hypothesis|jest|vitest|mocha|jasmine|node_env|forge_)"
    r"|(?<=[\"'`./])(?i:tests?|testing)(?![a-z])"  # a name in quotation marks, an attribute, a folder
    r"|(?<![A-Za-z])(?:tests?_|[tT]est(?:s|ing|ed)?(?=[A-Z])|TEST)|(?<=_)(?i:test)|(?<=[a-z])(?:Test|TEST)"
)
_SURROUNDINGS = (
    r"environb?\b|getenv|getppid|argv|/proc/|cmdline|isatty|isTTY|\bprocess\b(?!\()|import\.meta|globalThis|require\.(?:main|cache)"
    r"|module\.(?:parent|children)|\bsys as\b"
    r"|(?<!import )\bsys\b(?!\.(?:exit|std(?:in|out|err)|maxsize|platform|version_info|byteorder)\b)"
)
_CALLERS = (
    r"\binspect\b|frame\(|\bf_(?:back|code|globals)\b|gettrace|getprofile|(?:extract|format|print|walk)_stack"
    r"|captureStackTrace|prepareStackTrace|\)\.stack\b|\bgc\.|psutil|__main__"
)
_BY_NAME = (
    r"__import__|import_module|importlib|(?<![.\w])(?:eval|exec|globals|vars|Function)\(|builtins|__dict__|__globals__"
)
_LOOKS = re.compile("|".join((_TESTED, _SURROUNDINGS, _CALLERS, _BY_NAME)))
"""Names of tests and their runners; what tells a process of itself and of its callers; names that are made up as it
runs. It is wide on purpose: who is named here for nothing loses one proof that a claim is wrong."""


def find_look(before: Mapping[str, str], after: Mapping[str, str | None]) -> str:
    """Where a change adds code that looks at what runs it, as ``path:line``; empty if nowhere.

    :param before: path → content, of what was there.
    :param after: path → content of the files changed; None where it cannot be read, which may hold anything.
    """
    for path, text in after.items():
        if text is None:
            return path
        old = set(before.get(path, "").split("\n"))
        lines = enumerate(text.split("\n"), 1)
        found = next((number for number, line in lines if line not in old and _LOOKS.search(line)), None)
        if found is not None:
            return f"{path}:{found}"
    return ""
