"""What takes long on large files runs in a thread: on the event loop, every other run and webhook would wait for it."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.structure import PACKAGES, ROOT, Source

HEAVY = frozenset(
    {
        "agents.review.checks.results.find_introduced",
        "agents.review.checks.fingerprints.add_fingerprints",
        "domain.review.identity.find_again",
        "domain.review.identity.find_moved",
        "domain.review.identity.follow",
        "workspace.patches.validation.judge",
        "workspace.patches.validation.validate",
    }
)
"""They look at every line of every changed file, some once for each finding."""


def find_heavy_on_loop(source: Source) -> list[str]:
    """The coroutines that call something heavy themselves, or through functions that call it, and what they call."""
    functions: list[tuple[str, ast.AST, list[str]]] = []
    for where, tree in source.trees.items():
        imports = _read_imports(tree)
        for name, node in _list_functions(where.removesuffix(".py").replace("/", "."), tree):
            functions.append((name, node, list(_list_called(name, node, imports))))
    heavy, before = set(HEAVY), 0
    while len(heavy) > before:
        before = len(heavy)
        plain = (name for name, node, called in functions if not _is_async(node) and heavy & {*called})
        heavy |= {*plain}
    return sorted(
        f"{name}: {each}" for name, node, called in functions if _is_async(node) for each in called if each in heavy
    )


def _is_async(node: ast.AST) -> bool:
    return isinstance(node, ast.AsyncFunctionDef)


def _list_functions(module: str, tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Those of a module by their names, methods without their class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module}.{node.name}", node


def _read_imports(tree: ast.AST) -> Mapping[str, str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {each.asname or each.name: f"{node.module}.{each.name}" for node in imports for each in node.names}


def _list_called(name: str, function: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    """The functions that the body calls, or maps; what stands in a lambda or a nested function may run in a thread."""
    module = name.rpartition(".")[0]
    waiting = [*ast.iter_child_nodes(function)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            called = (
                [node.func, *node.args] if isinstance(node.func, ast.Name) and node.func.id == "map" else [node.func]
            )
            for each in called:
                if isinstance(each, ast.Name):
                    yield imports.get(each.id, f"{module}.{each.id}")
                elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self":
                    yield f"{module}.{each.attr}"


def test_nothing_heavy_runs_on_the_event_loop() -> None:
    assert find_heavy_on_loop(Source(ROOT, PACKAGES)) == []


def test_heavy_work_is_found_behind_functions_that_call_it(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    text = (
        "from domain.review.identity import find_again\n"
        "def look(lines):\n    return find_again(None, lines)\n"
        "class Till:\n"
        "    def _count(self):\n        return [*map(look, ())]\n"
        "    async def open(self):\n        return self._count()\n"
        "    async def close(self):\n        return await asyncio.to_thread(self._count)\n"
    )
    (tmp_path / "shop" / "till.py").write_text(text, encoding="utf-8")
    assert find_heavy_on_loop(Source(tmp_path, ["shop"])) == ["shop.till.open: shop.till._count"]
