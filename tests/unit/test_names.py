"""What the names and the rooms of the code were brought to stays so: each number here may only fall."""

import ast
import functools
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ["agents", "bot", "domain", "handlers", "memory", "messages", "pipeline", "safety", "simulator", "workspace"]
PARTICIPLES = 13  # properties and GitHub's own words among them
IMPORTS = 46  # of modules of ours, by one file; 18 is meant
ROOMS = {"pipeline": 20, "memory": 13, "domain": 20, "agents": 12}  # files and folders at the top of a package

_LIKE_PARTICIPLES = re.compile(
    "need|embed|feed|seed|exceed|proceed|succeed|bring|ping|find|finding|findings|setting|settings|"
    "heading|headings|warning|warnings|rating|building|listing|padding|encoding|string|strings|ranking|"
    "reading|nothing"
)
_IRREGULAR = re.compile(
    "told|said|made|given|taken|done|sent|shown|held|kept|heard|drawn|written|got|begun|known|lost|paid|"
    "met|seen|gone|brought|bought|built|caught|chosen|fallen|felt|forgotten|grown|hidden|laid|led|meant|"
    "proven|risen|sold|spent|spoken|stood|stuck|thought|thrown|understood|withdrawn|woken|found|left"
)


def is_participle(name: str) -> bool:
    """Whether a function's name begins with one, which says neither what it does nor what it answers."""
    word = name.strip("_").split("_")[0].lower()
    is_regular = re.fullmatch(r"[a-z]{2,}(ed|ing)", word) and not _LIKE_PARTICIPLES.fullmatch(word)
    return bool(is_regular or _IRREGULAR.fullmatch(word))


@functools.cache
def list_modules() -> Sequence[tuple[Path, ast.Module]]:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [(path.relative_to(ROOT), ast.parse(path.read_text())) for path in paths]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("told", True),
        ("_shown_at", True),
        ("asking", True),
        ("load_review", False),
        ("embed", False),
        ("is_kept", False),
    ],
)
def test_what_a_participle_is(name: str, is_one: bool) -> None:
    assert is_participle(name) is is_one


def test_functions_are_verbs() -> None:
    found = [
        f"{path}:{node.lineno} {node.name}"
        for path, module in list_modules()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name)
    ]
    assert len(found) <= PARTICIPLES, "\n".join(found)


def test_no_file_knows_too_many_others() -> None:
    counts = {
        path: sum(
            isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES for node in module.body
        )
        for path, module in list_modules()
    }
    assert max(counts.values()) <= IMPORTS, sorted(counts.items(), key=lambda each: -each[1])[:5]


@pytest.mark.parametrize("package", ROOMS)
def test_the_top_of_a_package_can_be_taken_in(package: str) -> None:
    found = {
        each.name for each in (ROOT / package).iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    }
    assert len(found - {"__init__.py"}) <= ROOMS[package], sorted(found)
