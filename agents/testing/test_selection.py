"""Selects the tests for a change: by imports and by names.

If nothing is known about a changed file, all tests run: selection saves time, but must not miss a failure.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from pydantic import Field

from domain.errors import ToolError
from domain.paths import is_lock, is_manifest, is_source, is_test, namesake
from domain.review.review import RiskLevel
from domain.runs.testing import LONGEST_PATH
from domain.text.escaping import cut_text
from domain.value import Value
from workspace.sandbox.worker_pool import WorkerPool

_SECONDS = 30.0  # for a worker that chooses
MOST_SOURCES = 20_000
_LARGEST_SOURCE = 1_000_000  # characters; a larger one is not parsed

_IS_DOCUMENT = re.compile(
    r"\.(md|mdx|rst|adoc|png|jpe?g|gif|webp|ico|pdf)$|(^|/)docs?/[^.]*\.txt$"
    r"|^(LICEN[CS]E|NOTICE|AUTHORS|CODEOWNERS|CHANGELOG)(\.txt)?$",
    re.IGNORECASE,
)
_IS_CONFIGURATION = re.compile(
    r"(^|/)(tox\.ini|pytest\.ini|\.coveragerc|Makefile|Dockerfile|tsconfig[^/]*\.json|babel\.config\.[^/]+|\.babelrc"
    r"|(jest|vitest|vite)\.config\.[^/]+|\.nvmrc|\.python-version|rust-toolchain(\.toml)?|go\.work)$|^conftest\.py$"
)
_IS_INTEGRATION = re.compile(r"(^|/)(integration|integration[-_]tests?|e2e|end[-_]to[-_]end)/", re.IGNORECASE)
_IS_RUN = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|tests?)\.py$")  # what pytest or unittest collects from
_FOLDERS_OF_SOURCES = frozenset({"src", "lib", "python"})
_FOLDERS_OF_TESTS = frozenset({"test", "tests", "spec", "__tests__"})


class Selection(Value):
    """The tests to run.

    :param tests: paths of test files in order; meaningless if all tests run.
    :param reason: why these, one sentence.
    :param leaves: folders that are parts of their own, of which nothing runs because nothing in them changed.
    """

    tests: tuple[str, ...] = ()
    runs_all: bool = False
    reason: str = Field(max_length=4 * LONGEST_PATH)
    leaves: tuple[str, ...] = ()


UNCHOSEN = "All tests: `commands.test` is run as it is configured, and cannot choose those that were named."
EVERYTHING = Selection(runs_all=True, reason="All tests.")
CONFIGURED = Selection(runs_all=True, reason="All tests: `commands.test` is run as it is configured.")


def name_tests(names: Sequence[str]) -> Selection:
    """Exactly these tests.

    :param names: files of tests, or ids of single ones that begin with their file and ``::``.
    """
    return Selection(tests=tuple(names), reason="Only the tests that were named, where the command can choose.")


def select(
    paths: Sequence[str],
    sources: Mapping[str, str],
    changed: Sequence[str],
    level: RiskLevel,
) -> Selection:
    """The tests to run for a change.

    :param paths: the files of the repository at head.
    :param sources: path → content of its Python files at head.
    :param changed: changed paths, including deleted ones.
    """
    if level in {RiskLevel.high, RiskLevel.critical}:
        return _select_all(f"the risk of this change is {level.value}")
    relevant = [path for path in changed if not _IS_DOCUMENT.search(path)]
    if not relevant:
        return Selection(reason="No tests: only documents changed.")
    if configuration := next((path for path in relevant if _concerns_all(path)), None):
        return _select_all(f"{cut_text(configuration, LONGEST_PATH)} changed, which concerns all of them")
    if len(sources) > MOST_SOURCES:
        return _select_all(f"the repository has more than {MOST_SOURCES:,} sources to look through")
    tests = _Tests(paths, sources, relevant)
    chosen: set[str] = set()
    for path in relevant:
        of_file = tests.find_for(path)
        if not of_file and not (path not in tests.paths and _holds_tests_only(path)):
            return _select_all(f"it is not known which tests concern {cut_text(path, LONGEST_PATH)}")
        chosen |= of_file
    integration = tests.find_integration(relevant) - chosen if level is RiskLevel.medium else set[str]()
    also = f", and {len(integration)} integration tests beside them, as the risk is medium" if integration else ""
    why = f"{len(chosen)} of {len(tests.runnable)} test files: those that concern the changed files{also}."
    return Selection(tests=tuple(sorted(chosen | integration)), reason=why)


async def select_in_worker(
    paths: Sequence[str],
    sources: Mapping[str, str],
    changed: Sequence[str],
    level: RiskLevel,
    pool: WorkerPool,
    seconds: float = _SECONDS,
) -> Selection:
    """The tests to run (see :func:`select`); all if the selection fails."""
    try:
        chosen = await pool.call(partial(select, paths, sources, changed, level), seconds)
    except ToolError as error:
        return Selection(runs_all=True, reason=f"All tests: which of them the change concerns is unknown. {error}")
    known = set(paths)
    return chosen.model_copy(update={"tests": tuple(test for test in chosen.tests if test in known)})


def concerns_code(changed: Sequence[str]) -> bool:
    """Whether a change concerns more than documents."""
    return any(not _IS_DOCUMENT.search(path) for path in changed)


def _select_all(why: str) -> Selection:
    return Selection(runs_all=True, reason=f"All tests: {why}.")


def _concerns_all(path: str) -> bool:
    return is_manifest(path) or is_lock(path) or _IS_CONFIGURATION.search(path) is not None


def is_runnable(path: str) -> bool:
    """Whether a test runner collects tests from this file; other files among the tests do not count."""
    if path.endswith(".py"):
        return _IS_RUN.search(path) is not None
    return is_test(path) and is_source(path)


def _holds_tests_only(path: str) -> bool:
    """Whether no other file can have needed a deleted file: by its own name, it was a module of tests."""
    return is_runnable(path) and is_test(path.rpartition("/")[2])


class _Tests:
    """Knows which tests concern which files."""

    def __init__(
        self,
        paths: Collection[str],
        sources: Mapping[str, str],
        changed: Sequence[str],
    ) -> None:
        self.paths = frozenset(paths)
        self.runnable = frozenset(path for path in self.paths if is_runnable(path))
        imports, self._unread = _map_imports(self.paths.union(changed), sources)
        self._importers = _invert(imports)
        self._by_name: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for path in self.runnable:
            self._by_name[namesake(path)].add(path)

    def find_for(self, path: str) -> set[str]:
        """The tests that concern a file. If Python tests do, those whose imports are unknown are added."""
        reached = _find_importers([path], self._importers)
        found = (reached | self._find_by_name(path)) & self.runnable
        return found | self._unread & self.runnable if any(test.endswith(".py") for test in found) else found

    def find_integration(self, changed: Iterable[str]) -> set[str]:
        """The integration tests that touch the package of a changed file, or may do so."""
        packages = {_package(path) for path in changed} - {""}
        reached = _find_importers([path for path in self.paths if _package(path) in packages], self._importers)
        return {
            test
            for test in self.runnable
            if _IS_INTEGRATION.search(test)
            and (not test.endswith(".py") or test in reached or test.split("/")[0] in packages)
        }

    def _find_by_name(self, path: str) -> set[str]:
        if path.endswith(".go"):  # the tests of a package stand in its folder
            folder = PurePosixPath(path).parent
            return {test for test in self.runnable if test.endswith(".go") and PurePosixPath(test).parent == folder}
        if is_runnable(path) and path in self.paths:
            return {path}
        return self._by_name[namesake(path)] if is_source(path) else set()


def _package(path: str) -> str:
    """The top-level folder of a source; empty for tests and for files in no folder."""
    parts = [part for part in path.split("/")[:-1] if part not in _FOLDERS_OF_SOURCES]
    return parts[0] if parts and parts[0] not in _FOLDERS_OF_TESTS else ""


# --- Python's imports --------------------------------------------------------------------------------------


def _map_imports(paths: Collection[str], sources: Mapping[str, str]) -> tuple[dict[str, set[str]], set[str]]:
    """Python file → the files it imports; and the files that Python cannot parse, whose imports are guessed."""
    modules = _map_modules(paths)
    found: dict[str, set[str]] = {}
    unread: set[str] = set()
    for path, text in sources.items():
        names = _parse_imports(text, path)
        if names is None:
            unread.add(path)
            names = set(_guess_imports(text[:_LARGEST_SOURCE], path))
        names.update(_find_quoted(text[:_LARGEST_SOURCE]))
        found[path] = {file for name in names for file in _resolve_import(name, path, modules)} | _find_conftests(
            path, paths
        )
        found[path].discard(path)
    return found, unread


def _map_modules(paths: Collection[str]) -> dict[str, set[str]]:
    """Name of a module → files it may be: relative to the top, to a folder of sources, and to its package."""
    known = frozenset(paths)
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        if not path.endswith(".py"):
            continue
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        starts = {0, _package_start(path, known)}
        starts.update(index + 1 for index, part in enumerate(parts[:-1]) if part in _FOLDERS_OF_SOURCES)
        for start in starts:
            modules[".".join(parts[start:])].add(path)
    return modules


def _package_start(path: str, paths: frozenset[str]) -> int:
    """How many folders lie above the outermost package that a file is in."""
    folders = path.split("/")[:-1]
    while folders and "/".join([*folders, "__init__.py"]) in paths:
        folders.pop()
    return len(folders)


def _parse_imports(text: str, path: str) -> set[str] | None:
    """The names a file imports; a relative one becomes a path with a leading slash. None if it cannot be parsed."""
    if len(text) > _LARGEST_SOURCE:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(_expand_from(node.level, node.module, (alias.name for alias in node.names), path))
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case | ast.Module):
            pending.extend(ast.iter_child_nodes(node))
    return names


def _expand_from(level: int, module: str | None, names: Iterable[str], path: str) -> Iterator[str]:
    """What ``from module import names`` may import; a relative one as the path it means."""
    if module and len(module) > LONGEST_PATH:
        return
    if level:
        folders = path.split("/")[:-1]
        if level - 1 > len(folders):
            return
        above = folders[: len(folders) - (level - 1)]
        start = "/" + "/".join([*above, *(module.split(".") if module else [])])
        yield start
        for name in names:
            yield f"{start.rstrip('/')}/{name}"
    elif module:
        yield module
        for name in names:
            yield f"{module}.{name}"


_FROM = re.compile(
    r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(?:\(([^()]{0,5000})\)|([^\n#;]{0,2000}))", re.MULTILINE
)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n#;]{1,2000})", re.MULTILINE)
_QUOTED = re.compile(r"""["']([A-Za-z_]\w{0,80}(?:\.\w{1,80}){1,12})["']""")


def _guess_imports(text: str, path: str) -> Iterator[str]:
    """The imports of a file that cannot be parsed, guessed line by line."""
    for match in _FROM.finditer(text):
        names = re.findall(r"\w+", match[3] or match[4] or "")
        yield from _expand_from(len(match[1]), match[2] or None, names, path)
    for match in _IMPORT.finditer(text):
        yield from re.findall(r"[\w.]+", match[1])


def _find_quoted(text: str) -> Iterator[str]:
    """Quoted names that a file may import or replace, as ``mock.patch("package.module.name")`` does."""
    for match in _QUOTED.finditer(text):
        yield match[1]
        yield match[1].rpartition(".")[0]


def _resolve_import(name: str, importer: str, modules: Mapping[str, set[str]]) -> Iterator[str]:
    """The files that importing a name runs: its own, and those of the packages around it."""
    if len(name) > 2 * LONGEST_PATH:  # too long for the name of a file
        return
    if name.startswith("/"):
        dotted = name[1:].replace("/", ".")
        yield from modules.get(dotted, ())
        return
    beside = ".".join([*importer.split("/")[:-1], name])  # the folder of a script is on its path
    yield from modules.get(beside, ())
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        yield from modules.get(".".join(parts[:end]), ())


def _find_conftests(path: str, paths: Collection[str]) -> set[str]:
    """pytest loads the ``conftest.py`` of every folder above a test."""
    folders = path.split("/")[:-1]
    above = ("/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1))
    return {conftest for conftest in above if conftest in paths}


def _invert(imports: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for importer, imported in imports.items():
        for file in imported:
            importers[file].add(importer)
    return dict(importers)


def _find_importers(start: Iterable[str], importers: Mapping[str, Collection[str]]) -> set[str]:
    """These files and all that import them, directly or not."""
    reached: set[str] = set()
    pending = list(start)
    while pending:
        path = pending.pop()
        if path not in reached:
            reached.add(path)
            pending.extend(importers.get(path, ()))
    return reached
