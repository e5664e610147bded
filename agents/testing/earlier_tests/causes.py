"""The texts that say why nothing is known of some earlier tests, and what would make them run."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

CountedText = tuple[str, str]
"""What follows the number of tests, for one and for several."""

SKIPPED: CountedText = (
    "test that passed before is skipped on the new code.",
    "tests that passed before are skipped on the new code.",
)
FLAKY: CountedText = (
    "test came and went, on the new code or before it.",
    "tests came and went, on the new code or before it.",
)
FAILED_BEFORE: CountedText = ("test failed before the change, too.", "tests failed before the change, too.")
RENUMBERED: CountedText = (
    "row has only a number for a name, and which row has which number changed.",
    "rows have only a number for a name, and which row has which number changed.",
)
NEWER: CountedText = (
    "test is written for a newer PHPUnit at head, and that of here runs none of its file.",
    "tests are written for a newer PHPUnit at head, and that of here runs none of their files.",
)
NOT_LOADED = "{} cannot be loaded on the new code, and nothing that is named there was seen to be gone: {}"
NOT_LOADED_BEFORE = "{} could not be run before the change, either: {}"
_REMEDY = " If that is missing here, `commands.setup` in .github/forge.yml installs what tests need."
_NOT_INSTALLED = re.compile(
    r"No module named|Cannot find (?:module|package) '[^./]|cannot load such file -- [^./]|not found|No such file|"
    r"ENOENT|can't find crate|no required module provides|Could not find|cannot find package",
    re.IGNORECASE,
)
_ERROR = re.compile(r"error|exception|cannot|could not|undefined|not found|no such", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{2,}")
_FRAME = re.compile(
    r"\s*(?:at |File \"|from /|#\d+ )|.*:\d+:in [`'][^']*'$|\s*[\w./\\-]+:\d+(?::\d+)?:?$|.*\(\S+:\d+:\d+\)$"
)


def list_causes(text: str, loading: Mapping[str, str]) -> list[str]:
    """One line for each cause, however many files it keeps from being loaded.

    :param text: with a place for the files and one for the cause.
    :param loading: path → what a file printed that could not be loaded.
    """
    causes: defaultdict[str, list[str]] = defaultdict(list)
    for path, output in loading.items():
        causes[find_cause(output)].append(path)
    return [_explain_cause(text, paths, cause) for cause, paths in causes.items()]


def find_cause(output: str) -> str:
    """The last line that names an error, else the last of several words: frames and sums tell nobody anything."""
    lines = [line.removeprefix("E ") for line in output.split("\n") if line[:1] not in set("=!0123456789")]
    lines = [line.strip() for line in lines if not _FRAME.match(line)]
    named = [line for line in lines if _ERROR.search(line)]
    words = [line for line in lines if len(_WORDS.findall(line)) > 1]
    return next(reversed(named or words), "no reason is given")[:200]


def _explain_cause(text: str, paths: Sequence[str], cause: str) -> str:
    more = len(paths) - 1
    files = f"{paths[0]} and {more} {'more file' if more == 1 else 'more files'}" if more else paths[0]
    return text.format(files, cause) + (f".{_REMEDY}" if _NOT_INSTALLED.search(cause) else "")
