"""Decides for tests in Python whether they use only pure modules, the framework and the repository's own modules."""

import ast
import builtins
import importlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from agents.syntax.reach.texts import is_plain
from agents.syntax.trees import SyntaxNode

_WHOLE = """
    array base64 binascii bisect calendar cmath collections collections.abc copy dataclasses datetime decimal enum
    fractions heapq html itertools json math numbers random re secrets statistics struct textwrap time unicodedata
"""
_PARTS: Mapping[str, str] = {
    "__future__": "annotations",
    "asyncio": "CancelledError Event Lock Queue Semaphore TimeoutError create_task gather run sleep wait_for",
    "contextlib": "AsyncExitStack ExitStack asynccontextmanager closing contextmanager nullcontext suppress",
    "functools": "cache cached_property cmp_to_key lru_cache partial reduce total_ordering",
    "hashlib": "blake2b md5 sha1 sha256 sha512",
    "io": "BytesIO StringIO",
    "pytest": "approx deprecated_call fail fixture mark param raises skip warns",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits printable punctuation whitespace",
    "types": "MappingProxyType SimpleNamespace",
    "typing": "Any Callable ClassVar Final Generic Literal NamedTuple Optional Protocol TypedDict TypeVar Union cast",
    "unittest": "IsolatedAsyncioTestCase TestCase mock",
    "uuid": "UUID uuid4 uuid5",
    "unittest.mock": "ANY AsyncMock MagicMock Mock call sentinel",
}
_MARKS = frozenset({"parametrize", "asyncio", "anyio", "trio", "slow"})
_BUILTINS = """
    abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter
    float format frozenset hasattr hash hex id int isinstance issubclass iter len list map max memoryview min next
    object oct ord pow print property range repr reversed round set slice sorted staticmethod str sum super tuple type
    zip Ellipsis NotImplemented
"""
_FIXTURES = frozenset({"self", "cls", "tmp_path", "capsys", "caplog", "recwarn", "monkeypatch", "subtests"})
_PATCHES = frozenset({"setattr", "setitem", "delattr", "delitem"})
_ON_FILES = frozenset({each for each in dir(pathlib.Path) if each not in dir(pathlib.PurePath)}) | {"parent", "parents"}
"""What touches the disk, or leaves a folder; in a test's own folder some of it may."""
_ON_OWN_FILES = frozenset(
    [
        "exists",
        "is_dir",
        "is_file",
        "iterdir",
        "mkdir",
        "open",
        "read_bytes",
        "read_text",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    ]
)
_INTERNAL = re.compile(r"_|(gi|cr|ag|tb|f|co)_|(tb|traceback|frame|configure_mock)$")
"""Attributes that lead from a value to the interpreter."""


def _list_members(module: str) -> frozenset[str]:
    """What a pure module offers itself; modules that it imported are no part of it."""
    loaded = importlib.import_module(module)
    named = getattr(loaded, "__all__", None) or [each for each in dir(loaded) if not each.startswith("_")]
    return frozenset(each for each in named if not isinstance(getattr(loaded, each), ModuleType))


_PURE: Mapping[str, frozenset[str]] = {
    **{module: _list_members(module) for module in _WHOLE.split()},
    **{module: frozenset(names.split()) for module, names in _PARTS.items()},
}
_KNOWN_BUILTINS = frozenset(_BUILTINS.split()) | {
    name for name in dir(builtins) if isinstance(getattr(builtins, name), type) and name[:1].isupper()
}
_ALL_BUILTINS = frozenset(dir(builtins))
_HANDED_ON = frozenset({*dir(os), *dir(shutil), *dir(socket), *dir(subprocess), *dir(pathlib), "urlopen", "requests"})
"""Names that a module of the repository rather has from one of the system than of its own."""
_STEP = re.compile(r"[\w. -]+(/[\w. -]+)*")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_GIVEN = frozenset({"tmp_path", "monkeypatch"})
"""Fixtures of which some uses are harmless, so that nothing else may go by their names."""


def stays(path: str, text: str, added: Sequence[SyntaxNode], tree: SyntaxNode, own: Collection[str]) -> bool:
    """Whether added tests use only what is known; see :func:`agents.syntax.reach.stays_by_itself`."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if any(each is tree for each in added):
        new = module.body
    else:
        spans = [(each.start, each.end) for each in added]
        new = [each for each in _list_statements(module) if any(a <= each.lineno <= b for a, b in spans)]
    return _File(module, own).stays(new)


def _list_statements(module: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module and of its classes, between which tests are added; whole classes come, too."""
    for each in module.body:
        yield each
        if isinstance(each, ast.ClassDef):
            yield from each.body


@dataclass(frozen=True)
class _Import:
    """What a name stands for: a module, or a member of one; ``is_known`` if it may be used."""

    module: str
    member: str | None
    is_known: bool
    is_own: bool


@dataclass
class _File:
    """A file of tests, with what its names stand for."""

    module: ast.Module
    own: Collection[str]
    imports: dict[str, _Import] = field(default_factory=dict[str, "_Import"])
    bound: set[str] = field(default_factory=set[str])
    aliases: set[str] = field(default_factory=set[str])
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict[ast.AST, ast.AST])
    temporary: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        for node in ast.walk(self.module):
            self.parents |= dict.fromkeys(ast.iter_child_nodes(node), node)
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._read_import(node)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.bound.add(node.id)
            elif isinstance(node, ast.arg):
                self.bound.add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
                self.bound |= {node.name} if node.name else set()
        self.temporary = self._list_temporary()

    def stays(self, new: Sequence[ast.stmt]) -> bool:
        """Whether new statements use only what is known. What they use of the rest of the file is looked at, too,
        where it is no function or class.
        """
        old = [each for each in self.module.body if each not in new and not isinstance(each, _DEFINITIONS)]
        bad = [each for each in old if not self._is_harmless(each)]
        self.aliases = {
            node.id for each in bad for node in ast.walk(each) if isinstance(node, ast.Name) and node.id in self.bound
        }
        return all(self._is_harmless(each) for each in new)

    def _is_harmless(self, statement: ast.stmt) -> bool:
        return all(self._is_known(node) for node in ast.walk(statement))

    # --- imports -------------------------------------------------------------------------------------------

    def _read_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for each in node.names:
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                self.imports[each.asname or each.name] = self._resolve(module, each.name)
            else:
                name = each.asname or each.name.split(".")[0]
                found = self._resolve(each.name, None)
                before = self.imports.get(name)
                is_known = found.is_known and (before is None or before.is_known)
                module = each.name if each.asname else name
                self.imports[name] = _Import(module, None, is_known, found.is_own)

    def _resolve(self, module: str, member: str | None) -> _Import:
        if self._is_own(module):
            return _Import(module, member, member is None or not (member == "*" or _is_handed_on(member)), True)
        is_known = module in _PURE and (member is None or member in _PURE[module])
        return _Import(module, member, is_known, False)

    def _is_own(self, module: str) -> bool:
        first = module.split(".")[0]
        return module.startswith(".") or (first in self.own and first not in sys.stdlib_module_names)

    # --- nodes ---------------------------------------------------------------------------------------------

    def _is_known(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return all(self.imports[each.asname or self._name(node, each)].is_known for each in node.names)
        if isinstance(node, ast.Match):
            return False  # its patterns read attributes
        if isinstance(node, ast.Constant):
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            return not isinstance(text, str) or (is_plain(text) and text not in _GIVEN)
        if isinstance(node, ast.Name):
            return self._is_known_name(node)
        if isinstance(node, ast.Attribute):
            return self._is_known_attribute(node)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return isinstance(node.value, ast.Name) and node.value.id not in self.imports
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return node.name not in _FIXTURES and self._has_known_fixtures(node)
        return not isinstance(node, ast.Lambda) or _GIVEN.isdisjoint(
            each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)
        )

    def _name(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
        return alias.name if isinstance(node, ast.ImportFrom) else alias.name.split(".")[0]

    def _is_known_name(self, node: ast.Name) -> bool:
        name = node.id
        if name in _GIVEN and not isinstance(node.ctx, ast.Load):
            return False
        if name == "monkeypatch":
            parent = self.parents.get(node)
            return isinstance(parent, ast.Attribute) and parent.attr in _PATCHES
        if name in self.imports:
            return isinstance(node.ctx, ast.Load) and self._is_known_import(node, self.imports[name])
        if name in _ALL_BUILTINS and name not in _KNOWN_BUILTINS:
            return False
        return (name in self.bound or name in _KNOWN_BUILTINS) and name not in self.aliases

    def _is_known_import(self, node: ast.Name, found: _Import) -> bool:
        parent = self.parents.get(node)
        if not found.is_known:
            return False
        if found.member is None or (found.module == "unittest" and found.member == "mock"):
            return isinstance(parent, ast.Attribute) or _is_patched(node, parent)  # a module may not be handed on
        if found.module == "pytest":
            return found.member not in {"mark", "fixture"}
        return not found.is_own or found.member[:1].isupper() or _is_called(node, parent)

    def _is_known_attribute(self, node: ast.Attribute) -> bool:
        of_self = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        if not isinstance(node.ctx, ast.Load) and not of_self:
            return False
        if node.attr.startswith("__") or (_INTERNAL.match(node.attr) and not of_self):
            return False
        module = self._find_module(node.value)
        if module is not None:
            return self._is_member(module, node)
        if node.attr in _ON_FILES:
            return node.attr in _ON_OWN_FILES and self._is_temporary(node.value)
        return True

    def _find_module(self, node: ast.expr) -> str | None:
        """The module that a chain of names stands for."""
        if isinstance(node, ast.Name) and node.id in self.imports:
            found = self.imports[node.id]
            if found.member is None:
                return found.module
            return "unittest.mock" if (found.module, found.member) == ("unittest", "mock") else None
        if isinstance(node, ast.Attribute):
            above = self._find_module(node.value)
            whole = f"{above}.{node.attr}"
            if above is not None and (whole in _PURE or self._is_imported(whole)):
                return whole
        return None

    def _is_imported(self, module: str) -> bool:
        """Whether the file imports a module by its whole name."""
        return any(
            each.name == module or each.name.startswith(f"{module}.")
            for node in ast.walk(self.module)
            if isinstance(node, ast.Import)
            for each in node.names
        )

    def _is_member(self, module: str, node: ast.Attribute) -> bool:
        whole = f"{module}.{node.attr}"
        parent = self.parents.get(node)
        if whole in _PURE or self._is_imported(whole):
            return isinstance(parent, ast.Attribute)
        if module in _PURE:
            if whole == "pytest.mark":
                return isinstance(parent, ast.Attribute) and self._is_known_mark(parent)
            if whole == "pytest.fixture":
                return self._is_plain_fixture(node)
            return node.attr in _PURE[module]
        return (
            self._is_own(module)
            and not _is_handed_on(node.attr)
            and (node.attr[:1].isupper() or _is_called(node, parent))
        )

    def _is_known_mark(self, mark: ast.Attribute) -> bool:
        """Whether a mark of pytest is one that evaluates no text and asks for no fixture."""
        call = self.parents.get(mark)
        if mark.attr != "parametrize":
            return mark.attr in _MARKS and not isinstance(call, ast.Call)
        if not isinstance(call, ast.Call) or not call.args:
            return False
        named = call.args[0]
        names = named.elts if isinstance(named, ast.Tuple | ast.List) else [named]
        is_plain = all(isinstance(each, ast.Constant) for each in names)
        return is_plain and all(each.arg == "ids" for each in call.keywords)

    def _is_plain_fixture(self, mark: ast.Attribute) -> bool:
        """Whether a fixture is made by its own name."""
        call = self.parents.get(mark)
        if isinstance(call, ast.Call):
            is_plain = all(each.arg in {"scope", "autouse", "params", "ids"} for each in call.keywords)
            return is_plain and isinstance(self.parents.get(call), ast.FunctionDef | ast.AsyncFunctionDef)
        return isinstance(call, ast.FunctionDef | ast.AsyncFunctionDef)

    # --- fixtures ------------------------------------------------------------------------------------------

    def _has_known_fixtures(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether what pytest hands to a function is known; a function that the file calls gets what the file gives."""
        required = {each.arg for each in _list_arguments(function)}
        others = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)} - required
        is_inner = isinstance(self.parents.get(function), ast.FunctionDef | ast.AsyncFunctionDef)
        if is_inner or self._is_called_here(function.name):
            return _GIVEN.isdisjoint(required | others)
        known = _FIXTURES | self._list_fixtures() | self._list_parameters(function)
        return required <= known and _GIVEN.isdisjoint(others)

    def _is_called_here(self, name: str) -> bool:
        calls = (node.func for node in ast.walk(self.module) if isinstance(node, ast.Call))
        return not name.startswith("test") and any(
            (isinstance(each, ast.Name) and each.id == name)
            or (
                isinstance(each, ast.Attribute)
                and each.attr == name
                and isinstance(each.value, ast.Name)
                and each.value.id in {"self", "cls"}
            )
            for each in calls
        )

    def _list_fixtures(self) -> set[str]:
        functions = (each for each in ast.walk(self.module) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
        return {each.name for each in functions if any("fixture" in ast.unparse(mark) for mark in each.decorator_list)}

    def _list_parameters(self, function: ast.AST) -> set[str]:
        """The arguments that marks give a test, or all tests of its class."""
        found: set[str] = set()
        holder: ast.AST | None = function
        while isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for mark in holder.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("mark.parametrize") and mark.args:
                    names = [each.value for each in ast.walk(mark.args[0]) if isinstance(each, ast.Constant)]
                    found |= {word for name in names for word in re.findall(r"\w+", str(name))}
            holder = self.parents.get(holder)
        return found

    # --- the test's own folder -----------------------------------------------------------------------------

    def _list_temporary(self) -> set[str]:
        """The names that only ever stand for a place in the test's own folder."""
        found: set[str] = set()
        places = [
            (target.id, node.value)
            for node in ast.walk(self.module)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        stored = [
            node.id for node in ast.walk(self.module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ] + [node.arg for node in ast.walk(self.module) if isinstance(node, ast.arg)]
        for name, _ in places:
            values = [value for other, value in places if other == name]
            if len(values) == stored.count(name) and all(map(self._is_temporary, values)):
                found.add(name)
        return found

    def _is_temporary(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            step = node.right.value if isinstance(node.right, ast.Constant) else None
            is_step = isinstance(step, str) and _STEP.fullmatch(step) is not None and ".." not in step
            return is_step and self._is_temporary(node.left)
        return isinstance(node, ast.Name) and node.id in {"tmp_path", *self.temporary}


def _is_handed_on(name: str) -> bool:
    return name in _HANDED_ON or name in sys.stdlib_module_names or name.startswith("_")


def _is_called(node: ast.AST, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and parent.func is node


def _is_patched(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether it is what ``monkeypatch`` changes, and changes back."""
    function = parent.func if isinstance(parent, ast.Call) and parent.args[:1] == [node] else None
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "monkeypatch"


def _list_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """The arguments without a default, which a caller has to give."""
    named = function.args
    plain = [*named.posonlyargs, *named.args]
    required = plain[: len(plain) - len(named.defaults)]
    return required + [each for each, value in zip(named.kwonlyargs, named.kw_defaults, strict=True) if value is None]
