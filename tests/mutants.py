"""Puts faults into the product, one at a time and by chance, to see whether what `make test` plays notices them.

    python -m tests.mutants .selection 300 [--seed 1]

The folder is what ``make selection`` leaves: the lines that each test reaches. The tests that reach the line of a fault
are played in a copy of the tree until one fails, those of `make test` first and then those that it leaves out. Each
line that is printed is one fault and who noticed it.
"""

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.left_out import load_left_out
from tests.selection import load_lines, load_seconds

ROOT = Path(__file__).parents[1]
_MOST = 24  # tests that are played of each kind, the quickest first
_SECONDS = 300  # after which a fault is noticed because tests stand still
_NO_COPY = shutil.ignore_patterns(".git", ".selection", ".venv", "__pycache__")
_OTHERS: Mapping[type[ast.AST], Callable[[], Any]] = {
    one: other
    for pair in (
        (ast.Eq, ast.NotEq),
        (ast.Lt, ast.LtE),
        (ast.Gt, ast.GtE),
        (ast.In, ast.NotIn),
        (ast.Is, ast.IsNot),
        (ast.And, ast.Or),
        (ast.Add, ast.Sub),
    )
    for one, other in (pair, pair[::-1])
}


@dataclass(frozen=True)
class Mutant:
    """One fault.

    :param path: of the file, relative to the repository.
    :param line: of what it replaces, from 1; :param start: its first byte in the file; :param end: behind its last one.
    :param text: in its place.
    """

    path: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """The file with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def list_mutants(path: str, source: bytes) -> Iterator[Mutant]:
    """Every fault that can be put into the functions of a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            for old, new in _list_faults(node):
                assert old.end_lineno is not None
                assert old.end_col_offset is not None
                yield Mutant(
                    path,
                    old.lineno,
                    starts[old.lineno - 1] + old.col_offset,
                    starts[old.end_lineno - 1] + old.end_col_offset,
                    f"({ast.unparse(ast.fix_missing_locations(new))})",
                )


def _list_faults(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What can be replaced in a node, and by what."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _OTHERS:
            yield node, ast.Compare(node.left, [_OTHERS[type(op)]()], node.comparators)
        case ast.BoolOp():
            yield node, ast.BoolOp(_OTHERS[type(node.op)](), node.values)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield node, ast.BinOp(node.left, _OTHERS[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node, node.operand
        case ast.If() | ast.IfExp():
            yield node.test, ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, ast.Constant(None)
        case ast.Expr(value=ast.Call() | ast.Await() as value):
            yield value, ast.Constant(None)
        case _:
            pass


def find_notice(tree: Path, tests: Sequence[str]) -> str | None:
    """What the tests say of the fault in a tree; None if none notices it."""
    if not tests:
        return None
    options = ("-n", "0", "-x", "-q", "--inline-snapshot=disable", "-p", "no:cacheprovider", "-k", "not postgresql")
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "they stand still"
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0] if told else None if done.returncode in {0, 5} else f"exit status {done.returncode}"


def _draw(folder: Path, count: int, seed: int) -> Iterator[tuple[Mutant, list[str]]]:
    """Faults on lines that tests reach, and these tests, the quickest first."""
    seconds, reaching = load_seconds(folder), defaultdict[tuple[str, int], list[str]](list)
    for test, lines in load_lines(folder).items():
        for path, line in lines:
            reaching[Path(path).relative_to(ROOT).as_posix(), line].append(test)
    paths = sorted({path for path, _ in reaching if path.endswith(".py")})
    every = [each for path in paths for each in list_mutants(path, (ROOT / path).read_bytes())]
    reached = [each for each in every if (each.path, each.line) in reaching]
    for mutant in random.Random(seed).sample(reached, count):
        yield mutant, sorted(reaching[mutant.path, mutant.line], key=lambda test: seconds.get(test, 0.0))


def _tell(what: Mapping[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


def main() -> None:
    """Play faults, and say how many were noticed by whom."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    left_out, noticed = load_left_out(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the sandbox runs as another account
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=_NO_COPY, symlinks=True)
        for mutant, tests in _draw(given.folder, given.count, given.seed):
            source = (ROOT / mutant.path).read_bytes()
            (tree / mutant.path).write_bytes(mutant.apply(source))
            quick = [test for test in tests if test not in left_out][:_MOST]
            rest = [test for test in tests if test in left_out][:_MOST]
            by, what = "make test", find_notice(tree, quick)
            if what is None:
                by, what = "left out", find_notice(tree, rest)
            by = "nobody" if what is None else by
            (tree / mutant.path).write_bytes(source)
            noticed[by] += 1
            _tell({"by": by, "said": what, "at": f"{mutant.path}:{mutant.line}", "fault": mutant.text})
    _tell(noticed)


if __name__ == "__main__":
    main()
