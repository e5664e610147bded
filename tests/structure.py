"""Measures how the source is built, prints it as a table, and fails where a number of this file is exceeded.

``make lint`` runs it. A number may only fall: who makes one true that is smaller writes the smaller one here.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tests.journeys import JOURNEYS, find_broken_steps
from tests.left_out import load_left_out, strip_parameters

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "agents",
    "bot",
    "domain",
    "github",
    "handlers",
    "memory",
    "messages",
    "migrations",
    "pipeline",
    "safety",
    "simulator",
    "workspace",
)

MOST_ROOMS: Mapping[str, int] = {"agents": 12, "domain": 20, "memory": 13, "pipeline": 20}
"""Modules and folders at the top of a package, at most."""

MOST_IMPORTS = 22
"""Modules of ours that one file imports, or imports names from."""
_LIKE_A_LIBRARY = {"domain.value"}  # the base of values, in the place of pydantic's, which is not counted

IMPORTING_MORE: Mapping[str, int] = {
    "pipeline/deliveries/commands/show.py": 30,
    "simulator/server.py": 27,
    "pipeline/gates/decide.py": 24,
    "pipeline/review/verdict.py": 24,
}
"""Files that still import more, and from how many."""

MOST_HOPS = 8
"""Files that a reader opens on one of the journeys of ``tests/journeys.py``."""

MOST_PARTICIPLES = 14
"""Functions whose name begins with a participle, where a verb in the imperative belongs; 3 % were the goal."""

HOMONYMS = {"Answer", "PullRequest"}
"""Names that public classes of two modules share."""

MOST_ANSWERING_JSON = 0
"""Functions of ``pipeline`` that answer JSON of any shape instead of a type."""

MOST_TESTS_FROM_TESTS = 0
"""Imports of a test module: what tests share belongs in a module that is no test."""

_IRREGULAR = re.compile(
    "begun|bought|broken|brought|built|caught|chosen|come|done|drawn|driven|fallen|fed|felt|forgotten|fought|"
    "found|frozen|given|gone|grown|heard|held|hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|"
    "proven|risen|said|seen|sent|shown|sold|spent|spoken|stolen|stood|stuck|sworn|taken|taught|thought|thrown|"
    "told|understood|undone|unheard|unmade|unpaid|unsaid|unseen|unsent|unshown|won|worn|woven|written"
)
_NOT_PARTICIPLES = re.compile(
    "bring|ceiling|embed|exceed|feed|finding|heading|need|nothing|ping|proceed|red|ring|seed|setting|sibling|"
    "speed|spring|string|succeed|warning"
)
_THREAT = re.compile(r"\bT-[A-Z]{1,2}[0-9]+\b")
_THREAT_ROW = re.compile(r"^- \*\*(T-[A-Z][0-9]+)\*\*", re.MULTILINE)
_THREAT_TEST = re.compile(r"def test_(?:t_)?([a-z])([0-9]+)_")


class Function(NamedTuple):
    """A function or method, and where it is."""

    where: str
    name: str
    returns: str


def read_texts(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """The texts of files, by their paths relative to a folder."""
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


class Source:
    """The Python files of some folders, read once.

    Args:
        root: the folder their paths are relative to.
        folders: read with everything below them.
    """

    def __init__(self, root: Path, folders: Sequence[str]) -> None:
        self.root = root
        self.texts = read_texts(root, (path for folder in folders for path in sorted((root / folder).rglob("*.py"))))
        self.trees = {where: ast.parse(text) for where, text in self.texts.items()}

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, nested ones and methods as well; not those that Python names (``__init__``)."""
        return [
            Function(where, node.name, ast.unparse(node.returns) if node.returns else "")
            for where, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__")
        ]

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names of all modules."""
        return frozenset(where.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for where in self.trees)

    def imports(self, packages: Sequence[str]) -> dict[str, set[str]]:
        """The modules of some packages that each file imports, or imports names from."""
        return {
            where: {name for name in _import_names(tree, self.modules) if name.split(".")[0] in packages}
            for where, tree in self.trees.items()
        }

    def classes(self) -> dict[str, list[str]]:
        """For each name of a public class the files that define it at their top; not those of the simulator."""
        found: dict[str, list[str]] = defaultdict(list)
        for where, tree in self.trees.items():
            if where.startswith("simulator/"):
                continue
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(where)
        return found


def _import_names(tree: ast.Module, modules: frozenset[str]) -> Iterator[str]:
    """:param modules: a name imported from a package may be one of these itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            named = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else node.module for name in named)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_participle(name: str) -> bool:
    """Whether a function's name begins with a participle: ``posted``, ``_held_back``, ``reading``."""
    first = name.lstrip("_").partition("_")[0]
    if _NOT_PARTICIPLES.fullmatch(first):
        return False
    return bool(_IRREGULAR.fullmatch(first)) or first.endswith(("ed", "ing"))


def find_rooms(package: Path) -> list[str]:
    """The modules and folders at the top of a package."""
    modules = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
    return sorted(modules + [path.parent.name for path in package.glob("*/__init__.py")])


def find_homonyms(source: Source) -> dict[str, list[str]]:
    """The names of public classes that several files define, with these files."""
    return {name: files for name, files in sorted(source.classes().items()) if len(files) > 1}


def find_json_answers(source: Source) -> list[Function]:
    """The functions that answer JSON of any shape."""
    return [function for function in source.functions if re.match(r"JsonValue\b", function.returns)]


def find_test_imports(texts: Mapping[str, str]) -> list[str]:
    """Imports of test modules by other modules of the tests, as ``importer: imported``."""
    imported = re.compile(r"^ *(?:from|import) (tests\.(?:\w+\.)*test_\w+)", re.MULTILINE)
    return [f"{where}: {name}" for where, text in texts.items() for name in imported.findall(text)]


def find_dead_references(root: Path, texts: Mapping[str, str]) -> list[str]:
    """References to pages that do not exist, as ``file: page``.

    Args:
        root: the folder of the repository.
        texts: texts by their path in it. Any may name ``docs/PAGE.md``; a page in Markdown may link to files.
    """
    dead: list[str] = []
    for where, text in texts.items():
        named = {page for page in re.findall(r"\bdocs/[\w-]+\.md\b", text) if not (root / page).exists()}
        if where.endswith(".md"):
            named |= {link for link in _file_links(text) if not (root / where).parent.joinpath(link).exists()}
        dead += [f"{where}: {page}" for page in sorted(named)]
    return dead


def find_unknown_threats(known: str, texts: Mapping[str, str]) -> list[str]:
    """Ids of threats (``T-W1``) that the page of threats does not explain, as ``file: id``."""
    rows = set(_THREAT.findall(known))
    return [f"{where}: {name}" for where, text in texts.items() for name in sorted(set(_THREAT.findall(text)) - rows)]


def find_untested_threats(page: str, tests: Iterable[str]) -> list[str]:
    """Ids of threats that the page lists and no test is named for (``test_t_w1_…``, ``test_w1_…``), and the reverse.

    Args:
        page: the text of ``docs/threats.md``.
        tests: texts of the files that attack.
    """
    tested = {f"T-{letter.upper()}{number}" for text in tests for letter, number in _THREAT_TEST.findall(text)}
    return sorted(tested ^ set(_THREAT_ROW.findall(page)))


def _file_links(markdown: str) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", markdown):
        path = target.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            yield path


class Measure(NamedTuple):
    """One line of the table."""

    name: str
    number: int
    limit: int
    names: Sequence[str]

    @property
    def is_met(self) -> bool:
        return self.number <= self.limit


def measure_rooms(source: Source) -> Measure:
    rooms = {package: find_rooms(source.root / package) for package in MOST_ROOMS}
    excess = [f"{package}: {names}" for package, names in rooms.items() if len(names) > MOST_ROOMS[package]]
    return Measure("packages with more rooms at their top than they may have", len(excess), 0, excess)


def measure_imports(source: Source) -> Measure:
    counts = {where: len(names - _LIKE_A_LIBRARY) for where, names in source.imports(PACKAGES).items()}
    excess = {where: count for where, count in counts.items() if count > IMPORTING_MORE.get(where, MOST_IMPORTS)}
    shown = [f"{where}: {count}" for where, count in excess.items()]
    return Measure(f"files with more than {MOST_IMPORTS} imports of ours, beyond the list", len(excess), 0, shown)


def measure_participles(source: Source) -> Measure:
    named = [f"{where}: {name}" for where, name, _ in source.functions if is_participle(name)]
    return Measure("functions named by a participle", len(named), MOST_PARTICIPLES, named)


def measure_homonyms(source: Source) -> Measure:
    ours = [f"{name}: {files}" for name, files in find_homonyms(source).items() if name not in HOMONYMS]
    return Measure("names shared by public classes, beyond the list", len(ours), 0, ours)


def measure_json_answers(source: Source) -> Measure:
    found = [
        f"{where}: {name}"
        for where, name, _ in find_json_answers(source)
        if where.startswith("pipeline/") and not where.startswith("pipeline/durable/")
    ]
    return Measure("functions of pipeline that answer any JSON", len(found), MOST_ANSWERING_JSON, found)


def measure_test_imports(tests: Mapping[str, str]) -> Measure:
    found = find_test_imports(tests)
    return Measure("imports of test modules", len(found), MOST_TESTS_FROM_TESTS, found)


def measure_references(pages: Mapping[str, str], tests: Mapping[str, str]) -> Measure:
    found = find_dead_references(ROOT, pages)
    found += find_unknown_threats(pages["docs/threats.md"], {**pages, **tests})
    return Measure("references to pages that do not exist", len(found), 0, found)


def measure_threats(pages: Mapping[str, str], tests: Mapping[str, str]) -> Measure:
    attacks = [text for where, text in tests.items() if where.startswith("tests/threats/")]
    found = find_untested_threats(pages["docs/threats.md"], attacks)
    return Measure("threats without a test, or tests of none that is listed", len(found), 0, found)


def measure_journeys() -> list[Measure]:
    broken, files = find_broken_steps(ROOT), {name: len(steps) for name, steps in JOURNEYS.items()}
    shown = [f"{name}: {count}" for name, count in files.items()]
    return [
        Measure("files on the longest of five journeys", max(files.values()), MOST_HOPS, shown),
        Measure("steps of journeys that lead nowhere", len(broken), 0, broken),
    ]


def measure_left_out(names: Iterable[str], tests: Mapping[str, str]) -> Measure:
    gone = sorted(name for name in names if not _is_defined(tests, *strip_parameters(name).split("::", 1)))
    return Measure("left out of make test, but no test", len(gone), 0, gone)


def _is_defined(tests: Mapping[str, str], file: str, function: str) -> bool:
    return f"def {function}(" in tests.get(file, "")


OF_SOURCE: Sequence[Callable[[Source], Measure]] = (
    measure_rooms,
    measure_imports,
    measure_participles,
    measure_homonyms,
    measure_json_answers,
)


def measure_all() -> list[Measure]:
    source = Source(ROOT, PACKAGES)
    tests = read_texts(ROOT, (ROOT / "tests").rglob("*.py"))
    pages = read_texts(ROOT, (ROOT / where for where in source.texts if not where.startswith("bot/demo/")))
    pages |= read_texts(ROOT, [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"])
    return [
        *(measure(source) for measure in OF_SOURCE),
        measure_test_imports(tests),
        measure_left_out(load_left_out(), tests),
        measure_references(pages, tests),
        measure_threats(pages, tests),
        *measure_journeys(),
    ]


def main(arguments: Sequence[str]) -> int:
    """Prints the table; with ``--all`` every name that a number counts, otherwise only where a number is exceeded."""
    measures = measure_all()
    for measure in measures:
        lines = [f"{'ok ' if measure.is_met else 'BAD'} {measure.number:>4} of {measure.limit:<4} {measure.name}"]
        if not measure.is_met or "--all" in arguments:
            lines += [f"{'':16}{culprit}" for culprit in measure.names]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if all(measure.is_met for measure in measures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
