"""The files that decide what is run and who may do what: what reads each, with which secrets, and who is asked."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.globs import join_patterns, matches
from domain.paths import fold_path


@dataclass(frozen=True, kw_only=True)
class ProtectedFiles:
    """Files with one reader.

    Forge's own agents, external ones in the shadow included, never change them unasked, a plan that names one is of
    high risk, and a pull request that changes one is not of low risk.

    :param reader: the program that obeys them.
    :param patterns: globs of their paths; case does not count.
    :param runs: what it does with them, when, and with which secrets.
    :param on_push: it does so as soon as a branch is pushed.
    :param asks: a pull request of people that changes them asks the gate ``protected_paths``, too.
    :param why: why it asks, or why not.
    """

    reader: str
    patterns: tuple[str, ...]
    runs: str
    on_push: bool = False
    asks: bool
    why: str


_ON_EVERY_PUSH = {
    "runs": "commands on each pushed branch, with the secrets of the project there",
    "on_push": True,
    "why": "it runs with secrets before anybody reads it",
}


def _read_table() -> Iterator[ProtectedFiles]:
    """The rows of the file beside this module, in its order."""
    told = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for row in told["asks"]:
        yield _build_row(row, asks=True)
    for reader, patterns in told["asks_of_ci"].items():
        yield _build_row({"reader": reader, "patterns": patterns, **_ON_EVERY_PUSH}, asks=True)
    for row in told["kept"]:
        yield _build_row(row, asks=False)


def _build_row(row: Mapping[str, Any], *, asks: bool) -> ProtectedFiles:
    told: dict[str, Any] = {**row, "patterns": tuple(row["patterns"])}
    return ProtectedFiles(**told, asks=asks)


TABLE = tuple(_read_table())
"""Every kind of file that Forge protects by itself."""

STEERS_GIT = next(row.patterns for row in TABLE if row.reader == "git")
"""Files that control what git fetches and what a review sees; agents never change them."""


def _fold(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(fold_path, patterns)))


PROTECTED = _fold(pattern for row in TABLE for pattern in row.patterns)
"""Folded globs of all of them: agents are kept from these, and a plan that names one is of high risk."""

_ANY = join_patterns(PROTECTED)
_ON_PUSH = join_patterns(_fold(pattern for row in TABLE if row.on_push for pattern in row.patterns))
_ASKED = join_patterns(_fold(pattern for row in TABLE if row.asks for pattern in row.patterns))


_SETTINGS = re.compile(r"\.github/.+\.(ya?ml|toml|json[5c]?)|(?!\.github/)\.[^/]+(/.*)?")
_HARMLESS = re.compile(
    r"\.github/((issue|discussion|pull_request)_template/.*|(funding|labels?|labeler|stale|lock|no-response)\.ya?ml"
    r"|(release|codecov)[^/]*|zizmor\.ya?ml)"
    r"|\.(changeset|dumi|storybook|vitepress|yarn)/.*"
    r"|\.[^/]*(ignore|keep|nojekyll|rc\.example|env\.(example|sample|template)|versions?(-[a-z]+)?|nvmrc|mailmap|ignore-revs|browserslistrc)"
    r"|\.([^/]*[._-])?(ava|babel|clang|contributors|cover|codecov|editorconfig|flake8|flowconfig|(rust|scala|sh|go)?fmt"
    r"|doctrine-project|format|golangci|isort|jest|jshint|jscs"
    r"|(es|style|markdown|yaml|had|py|remark|commit|html|sql|swift|tf|text)?lint|manifest|mocha|nyc|php-?_?cs|phpstan|phpunit|prettier|psalm|rspec|rubocop|ruff|size-limit|[ac]?spell|style"
    r"|swc|typedoc|verb\.md|versionrc|vitest|yard)[^/]*"
)
"""Settings of tools that neither approve nor run with secrets: they format, lint, test, measure and document."""


def _is_of_unknown_program(path: str) -> bool:
    """Whether a folded path is one where Apps and CIs keep their settings, hidden at the root or in ``.github/``, and
    nobody has heard of its reader: there are more of them than a table can name.
    """
    return _SETTINGS.fullmatch(path) is not None and not _HARMLESS.fullmatch(path) and not _ANY.fullmatch(path)


def decides_about_runs(path: str) -> bool:
    """Whether a file of this name decides what is run or who may do what, so that its change is never of low risk."""
    folded = fold_path(path)
    return _ANY.fullmatch(folded) is not None or _is_of_unknown_program(folded)


def runs_on_push(path: str) -> bool:
    """Whether CI, or another service, does what this file says as soon as a branch is pushed."""
    return _ON_PUSH.fullmatch(fold_path(path)) is not None


def explain_protection(path: str) -> str:
    """What reads a file that asks ``protected_paths``, and what that does with it."""
    folded = fold_path(path)
    row = next((row for row in TABLE if row.asks and matches(folded, _fold(row.patterns))), None)
    if row is not None:
        return f"{row.reader}: {row.runs}"
    if _is_of_unknown_program(folded):
        return "its name begins with a dot, so a program or a model may obey it"
    return "named in `paths.protected`"


def select_asked(paths: Sequence[str], configured: Sequence[str]) -> list[str]:
    """Those of the paths of a pull request that ask ``protected_paths``, in order.

    :param configured: the repository's own globs (``paths.protected``).
    """
    folded = _fold(configured)
    return sorted(path for path in paths if _asks(fold_path(path), folded))


def _asks(path: str, configured: Sequence[str]) -> bool:
    return _ASKED.fullmatch(path) is not None or _is_of_unknown_program(path) or matches(path, configured)
