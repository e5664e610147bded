"""Weighs the repository and prints what there is of each: lines, files, functions, classes, concepts, words.

``python -m tests.weight [REVISION ...]`` weighs the folder, or these revisions of its history side by side.
"""

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.structure import PACKAGES, ROOT

APART = ("simulator",)
"""Packages of their own weight: they stand in for GitHub in the demo and in tests, and no server loads them."""

Weight = Mapping[str, int]


def weigh(root: Path) -> Weight:
    """What there is in a checkout, by its name.

    :param root: the folder of the checkout.
    """
    product = [folder for folder in PACKAGES if folder not in APART]
    weights = {**weigh_code(root, product, "product"), **weigh_code(root, ["tests"], "tests")}
    weights |= {f"{name}: lines": sum(len(text.splitlines()) for text in read(root, [name])) for name in APART}
    weights |= {f"concepts: {name}": number for name, number in count_concepts(root)}
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages}
    return weights | {"words: README.md": words["README.md"], "words: all pages": sum(words.values())}


def weigh_code(root: Path, folders: Sequence[str], name: str) -> Weight:
    """The lines, files, functions and classes in some folders."""
    texts = list(read(root, folders))
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    return {
        f"{name}: lines": sum(len(text.splitlines()) for text in texts),
        f"{name}: files": len(texts),
        f"{name}: functions": sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
        f"{name}: classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
    }


def read(root: Path, folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            yield path.read_text(encoding="utf-8")


def count_concepts(root: Path) -> Iterator[tuple[str, int]]:
    """What a person has to know by name."""
    yield "verbs", count_members(root / "domain/verbs.py", "Verb")
    yield "kinds of events", count_members(root / "domain/events.py", "EventType")
    yield "reasons of an end", count_members(root / "domain/runs/run.py", "ReasonCode")
    yield "kinds of notices", count_members(root / "domain/notices.py", "NoticeType")
    yield "tables", sum(text.count("__tablename__ = ") for text in read(root, ["memory"]))
    yield "keys of forge.yml", len(set(find_keys(json.loads((root / "docs/forge.schema.json").read_text()))))
    yield "settings", count_fields(root / "bot/settings.py")


def count_members(path: Path, name: str) -> int:
    """The members of an enum, read from its source."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return sum(isinstance(line, ast.Assign) for line in node.body)
    raise LookupError(f"{path} has no class {name}.")


def count_fields(path: Path) -> int:
    """The fields of all classes of a file."""
    classes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    return sum(isinstance(line, ast.AnnAssign) for node in classes for line in node.body)


def find_keys(schema: dict[str, Any]) -> Iterator[str]:
    """Every key that a person may write, as ``section.key``; a repeated part counts once for each place."""
    yield from _find_keys(schema, schema.get("$defs", {}), "")


def _find_keys(node: dict[str, Any], definitions: dict[str, Any], path: str) -> Iterator[str]:
    if "$ref" in node:
        yield from _find_keys(definitions[node["$ref"].rpartition("/")[2]], definitions, path)
    for part in (*node.get("anyOf", ()), *node.get("allOf", ()), *node.get("oneOf", ())):
        yield from _find_keys(part, definitions, path)
    for key, part in node.get("properties", {}).items():
        place = f"{path}.{key}".lstrip(".")
        yield from list(_find_keys(part, definitions, place)) or [place]
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _find_keys(node[key], definitions, f"{path}.*")


def weigh_revision(revision: str) -> Weight:
    """What there was at a revision of the repository's history."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        return weigh(Path(folder))


def main(revisions: Sequence[str]) -> int:
    """Prints a line for each weight, with a column for each revision."""
    columns = [weigh_revision(revision) for revision in revisions] or [weigh(ROOT)]
    if revisions:
        sys.stdout.write(f"{'':30}" + "".join(f"{revision[:12]:>13}" for revision in revisions) + "\n")
    for name in columns[-1]:
        sys.stdout.write(f"{name:30}" + "".join(f"{column.get(name, 0):>13,}" for column in columns) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
