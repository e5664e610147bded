"""Turns a repository's ruff configuration at the merge base into arguments for an isolated ruff.

Only plain data is taken. Settings that name other files, such as ``extend``, ``src`` and ``cache-dir``, are never
followed.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, cast

# Rules that are on for everybody. Each finds code that fails when it runs, or that does not do what it says; none is
# about taste. A repository can remove one with `ignore`.
DEFAULT_RULES: tuple[str, ...] = (
    "F401",  # an import nothing uses: left over, or its use was lost
    "F402",  # a loop variable hides an import
    "F404",  # a late __future__ import is a syntax error
    "F407",  # an unknown __future__ feature is a syntax error
    "F50",  # wrong % arguments raise, mostly when the message is needed
    "F52",  # the same for .format()
    "F6",  # repeated dictionary keys, `is` with literals, asserts on tuples
    "F7",  # break, continue, return and yield in wrong places
    "F81",  # a definition replaced before it was used: one of the two is lost
    "F82",  # names that do not exist
    "F841",  # a local variable nothing reads: often a misspelt name
    "F901",  # raise NotImplemented raises a TypeError
    "PLE",  # what pylint calls errors: wrong signatures of special methods, logging arguments, hidden characters
    "PLW0127",  # x = x
    "PLW0129",  # an assert on a text is always true
    "PLW0133",  # an exception is made but not raised
    "PLW0177",  # a comparison with NaN is always false
    "PLW0245",  # super without brackets
    "PLW0711",  # except A or B catches only A
    "PLW1501",  # an open mode that does not exist raises
    "PLW1508",  # a default of an environment variable that is not a text
    "PLW2101",  # a lock that is released at once
    "B002",  # ++x does nothing
    "B003",  # assigning os.environ does not change the environment
    "B005",  # strip() with several letters strips any of them
    "B006",  # a mutable default is shared between calls
    "B012",  # return in finally swallows exceptions
    "B015",  # a comparison whose result is lost
    "B016",  # raise of a literal is a TypeError
    "B018",  # an expression whose result is lost
    "B020",  # a loop that overwrites what it iterates over
    "B021",  # an f-string is no docstring
    "B022",  # suppress() without an exception suppresses nothing
    "B025",  # the second handler of the same exception never runs
    "B029",  # except () catches nothing
    "B030",  # except with something that is no exception raises
    "B031",  # a group of groupby is empty the second time
    "B032",  # an annotation that was meant as an assignment
    "B035",  # a dict comprehension with one key
    "B039",  # a mutable default of a ContextVar is shared
    "ASYNC100",  # a time-out around nothing that can wait
    "ASYNC105",  # a coroutine that is never awaited
    "ASYNC210",  # a blocking HTTP request stops every other task of the event loop
    "ASYNC212",  # the same with httpx
    "ASYNC221",  # the same by running a process
    "ASYNC222",  # the same by waiting for one
    "ASYNC251",  # the same by time.sleep
    "RUF006",  # a task nobody holds can be collected before it is done
    "RUF008",  # a mutable default of a dataclass is shared
    "RUF016",  # an index of an impossible type raises
    "RUF018",  # an assignment in an assert is gone with -O
    "RUF024",  # dict.fromkeys shares its mutable value
    "RUF026",  # defaultdict(default_factory=...) makes a key of that name
    "RUF033",  # a default of __post_init__ is never used
    "RUF049",  # a dataclass that is an enum does not work
    "LOG014",  # exc_info outside a handler logs "NoneType: None"
    "G101",  # extra= with a reserved name raises
    "T100",  # a debugger left in
    "PIE794",  # a field defined twice
    "PIE796",  # an enum value used twice is an alias
    "INT",  # a message formatted before it is translated is never found
    "YTT",  # comparisons of sys.version that fail since 3.10
)

# These need the whole tree, the modes of its files, or the callers of a function (a bare raise is right in one that
# handlers call), but we see only the changed files.
NEEDS_THE_TREE = ("INP", "EXE", "TC001", "TC002", "TC003", "RUF200", "TID252", "D104", "E902", "PLE0704")
# Our own check looks for hidden text in every language.
HIDDEN_TEXT = ("PLE2502", "PLE2515")
IMPORT_ORDER = "I001"
_RUFF_CLASSIC = ("E4", "E7", "E9", "F")

_TOP = ("line-length", "indent-width", "preview", "builtins", "exclude", "extend-exclude", "namespace-packages")
_LINT = (
    *("per-file-ignores", "extend-per-file-ignores", "exclude", "dummy-variable-rgx"),
    *("allowed-confusables", "external", "task-tags", "typing-modules", "logger-objects", "preview"),
    *("explicit-preview-rules", "fixable", "unfixable", "extend-fixable", "ignore-init-module-imports"),
)
_PLUGINS = (
    *("flake8-annotations", "flake8-bandit", "flake8-boolean-trap", "flake8-bugbear", "flake8-builtins"),
    *("flake8-comprehensions", "flake8-copyright", "flake8-errmsg", "flake8-gettext", "flake8-implicit-str-concat"),
    *("flake8-import-conventions", "flake8-pytest-style", "flake8-quotes", "flake8-self", "flake8-tidy-imports"),
    *("flake8-type-checking", "flake8-unused-arguments", "isort", "mccabe", "pep8-naming", "pycodestyle"),
    *("pydoclint", "pydocstyle", "pyflakes", "pylint", "pyupgrade", "ruff"),
)
_FORMAT = (
    *("quote-style", "indent-style", "line-ending", "skip-magic-trailing-comma", "preview", "exclude"),
    *("docstring-code-format", "docstring-code-line-length"),
)
_CONFIGURATION_FILES = (".ruff.toml", "ruff.toml", "pyproject.toml")
_FORMATS = re.compile(rb"\bruff[ -]format\b|^\[(?:tool\.ruff\.)?format\]", re.MULTILINE)
_LARGEST, _LONGEST_LIST, _LONGEST_TEXT = 200_000, 1000, 500
NEWEST = "py315"
"""The Python that code is taken for where nothing else is said, as ruff names it."""


@dataclass(frozen=True)
class RuffSettings:
    """How ruff is run on the files of one folder.

    :param folder: folder of the configuration within the repository, "" for the root.
    :param arguments: ``--config`` arguments.
    :param configured: whether the repository configures ruff here; otherwise only our own rules are on.
    :param formats: whether the repository has ruff format its code.
    :param chosen: rule prefixes the repository selected.
    :param note: what could not be honoured.
    """

    folder: str
    arguments: tuple[str, ...]
    configured: bool = False
    formats: bool = False
    chosen: tuple[str, ...] = ()
    note: str | None = None

    @property
    def is_of_any_python(self) -> bool:
        """Whether nothing says which Python the code is for."""
        return format_option("target-version", NEWEST) in self.arguments


@dataclass(frozen=True)
class PythonProject:
    """What a repository says about its Python code.

    :param settings: the merge base's configuration of ruff by path: ``pyproject.toml``, ``ruff.toml``, ``.ruff.toml``,
        and that of pre-commit, which may run its formatter.
    :param first_party: the repository's own top-level packages; without them the order of imports is not checked.
    :param pyproject: ``pyproject.toml`` at head if it was changed: a Python that it gives up does not count any more.
    """

    settings: Mapping[str, bytes]
    first_party: Sequence[str] = ()
    pyproject: bytes | None = None

    @property
    def formats(self) -> bool:
        """Whether it says that ruff formats its code, and not only that ruff lints it."""
        return any(map(_FORMATS.search, self.settings.values()))


def find_settings(path: str, project: PythonProject) -> RuffSettings:
    """The settings for a file: those of the nearest folder with a configuration, as in ruff itself.

    :param path: path of the file at head.
    """
    known = project.settings
    pythons = [_find_oldest_python(each or b"") for each in (known.get("pyproject.toml"), project.pyproject)]
    note: str | None = None
    for folder in PurePosixPath(path).parents:
        for name in _CONFIGURATION_FILES:
            where = name if str(folder) == "." else f"{folder}/{name}"
            if where not in known:
                continue
            section, problem = _read_section(where, known[where])
            note = note or problem
            if section is not None:
                found = _build_settings(str(folder), where, section, pythons, tuple(project.first_party))
                return replace(found, formats=project.formats)
    return RuffSettings("", _build_defaults(_choose_python(None, *pythons)), note=note)


def reset_settings(settings: RuffSettings, problem: str) -> RuffSettings:
    """The default settings, for when ruff refused the repository's."""
    return RuffSettings(settings.folder, _build_defaults(NEWEST), note=problem)


def _build_defaults(target: str) -> tuple[str, ...]:
    return (
        format_option("target-version", target),
        format_option(
            "lint",
            {
                "select": list(DEFAULT_RULES),
                "ignore": [*NEEDS_THE_TREE, *HIDDEN_TEXT],
                "per-file-ignores": {"__init__.py": ["F401"], "*.pyi": ["F401", "B018"]},
            },
        ),
    )


def _read_section(where: str, content: bytes) -> tuple[dict[str, Any] | None, str | None]:
    """The ruff part of a configuration file; None if it has none or cannot be used, with the reason."""
    if len(content) > _LARGEST:
        return None, f"{where} is too large to read."
    try:
        whole = tomllib.loads(content.decode())
        of_project = where.rsplit("/", 1)[-1] == "pyproject.toml"
        document = _table(_table(whole, "tool"), "ruff") or None if of_project else whole
    except (ValueError, AttributeError, RecursionError):
        return None, f"{where} at the merge base is not valid TOML, so ruff ran with its default rules."
    if document is None:
        return None, None
    if "extend" in document:
        return None, f"{where} extends another file, which is not followed, so ruff ran with its default rules."
    return document, None


def _build_settings(
    folder: str, where: str, section: dict[str, Any], pythons: Sequence[str | None], first_party: tuple[str, ...]
) -> RuffSettings:
    # As in older versions of ruff, options of the linter may also stand at the top level.
    lint = {key: value for key, value in section.items() if key not in ("lint", "format")} | _table(section, "lint")
    selected, extended = _list_texts(lint.get("select")), _list_texts(lint.get("extend-select"))
    chosen = (selected if "select" in lint else _RUFF_CLASSIC) + extended
    ignored = _list_texts(lint.get("ignore")) + _list_texts(lint.get("extend-ignore"))
    # Our rules are more specific than a family and would override its being ignored.
    ours = [] if "ALL" in ignored else [rule for rule in DEFAULT_RULES if not rule.startswith(ignored)]
    is_usual = {each.strip("./") for each in _list_texts(section.get("src"), r".+")} <= {"", "src"}
    unavailable = [*NEEDS_THE_TREE, *HIDDEN_TEXT, *(() if first_party and is_usual else (IMPORT_ORDER,))]
    target = _choose_python(section.get("target-version"), *pythons)
    isort = _keep_plain(_table(lint, "isort"))
    isort["known-first-party"] = [*_list_texts(isort.get("known-first-party"), r".+"), *first_party]
    plugins = {plugin: _keep_plain(_table(lint, plugin)) for plugin in _PLUGINS if plugin in lint}
    options = _keep_plain(lint, _LINT) | plugins | {"isort": isort}
    # In one value, so that the selected and the ignored rules have the same precedence.
    options |= {"select": [*chosen, *ours], "ignore": [*ignored, *unavailable]}
    top = _keep_plain(section, _TOP) | {"target-version": target}
    arguments = [format_option(key, value) for key, value in top.items()] + [format_option("lint", options)]
    formatting = _keep_plain(_table(section, "format"), _FORMAT)
    arguments += [format_option("format", formatting)] if formatting else []
    return RuffSettings("" if folder == "." else folder, tuple(arguments), configured=True, chosen=chosen)


def _keep_plain(table: Mapping[str, Any], keys: Sequence[str] | None = None) -> dict[str, Any]:
    """The entries of a table that are plain data, limited to ``keys`` if they are given."""
    return {
        key: value
        for key, value in table.items()
        if (keys is None or key in keys) and re.fullmatch(r"[a-z0-9-]+", key) and _is_plain(value)
    }


def _is_plain(value: object, depth: int = 0) -> bool:
    if isinstance(value, bool | int):
        return True
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isprintable() and not _leads_outside(value)
    if depth >= 2:
        return False
    if isinstance(value, list):
        items = cast(list[object], value)
        return len(items) <= _LONGEST_LIST and all(_is_plain(item, depth + 1) for item in items)
    if isinstance(value, dict):
        table = cast(dict[str, object], value)
        return len(table) <= _LONGEST_LIST and all(
            _is_plain(key, 2) and _is_plain(item, depth + 1) for key, item in table.items()
        )
    return False


def _leads_outside(text: str) -> bool:
    """Whether a path or pattern leads out of the configuration's folder."""
    return text.startswith(("/", "~")) or ".." in text.split("/")


def format_option(key: str, value: object) -> str:
    """A setting as an argument of ``--config``."""
    return f"{key}={_to_toml(value)}"


def _to_toml(value: object) -> str:
    if isinstance(value, dict):
        table = cast(dict[str, object], value)
        return "{" + ", ".join(f"{json.dumps(key)} = {_to_toml(item)}" for key, item in table.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_to_toml(item) for item in cast(list[object], value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list_texts(value: object, shape: str = r"[A-Z]+\d*") -> tuple[str, ...]:
    """The texts of a list that have a shape, by default that of a rule or a family of rules."""
    items = cast(list[object], value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str) and re.fullmatch(shape, item))


def _choose_python(configured: object, before: str | None, now: str | None) -> str:
    """The Python that code is taken for; one that the change no longer supports is not held against it."""
    is_named = isinstance(configured, str) and re.fullmatch(r"py3\d{1,2}", configured)
    target = configured if is_named else before or NEWEST
    if before and now and _minor(now) > _minor(before):
        return max(target, now, key=_minor)
    return target


def _minor(python: str) -> int:
    return int(python.removeprefix("py3"))


@lru_cache(maxsize=2)
def _find_oldest_python(pyproject: bytes) -> str | None:
    """The oldest Python the project says it supports, as ruff names it."""
    if len(pyproject) > _LARGEST:
        return None
    try:
        required = tomllib.loads(pyproject.decode())["project"]["requires-python"]
        found = re.search(r"(?:>=|~=|==)\s*3\.(\d{1,2})", str(required))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return f"py3{min(max(int(found.group(1)), 7), 15)}" if found else None
