"""Reads what hooks that hold for many tests put in place of functions and methods of other modules."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath

from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.facts import ReplacementFact
from agents.review.avoidance.leaves import is_literal, join_text
from agents.review.avoidance.lines import LONGEST
from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name

_FOR_MANY = re.compile(
    r"(setUpModule|setup_module|setUpClass|setup_class|setUp|setup_method|setup_function|pytest_\w+)$"
)
_AUTOMATIC = re.compile(r"\bfixture \(.*\bautouse = True\b")
_VALUES = frozenset({"dictionary", "list", "tuple", "set", "true", "false", "none", "concatenated_string"})
_NAME = re.compile(r"[A-Za-z_]\w*$")
_OWN_FOLDER = 1  # dots of a relative import that stays within the tests


def find_replacements(tree: SyntaxNode, language: str, path: str, text: str) -> tuple[ReplacementFact, ...]:
    """What the hooks of a file of tests replace, in order."""
    match language:
        case "python":
            return tuple(_Python(tree, is_shared=_is_shared(path)).find())
        case "javascript" | "typescript" | "tsx":
            return tuple(_find_in_script(text)) if _is_shared(path) else ()
        case "ruby":
            return tuple(_find_in_ruby(text)) if _is_shared(path) else ()
        case _:
            return ()


def _is_shared(path: str) -> bool:
    """Whether what a file does holds for tests of other files."""
    name = PurePosixPath(path).name
    return _SHARED.search(name) is not None or "/support/" in path


_SHARED = re.compile(
    r"^(conftest|__init__|sitecustomize)\.py$|^base\w*\.py$|_helper\.rb$|(setup|helper|bootstrap|hooks?|globals?|prelude)"
    r"[\w.-]*\.[cm]?[jt]sx?$",
    re.IGNORECASE,
)


# --- Python ------------------------------------------------------------------------------------------------------


class _Python:
    """The hooks of a file of Python, with what its names stand for."""

    def __init__(self, tree: SyntaxNode, *, is_shared: bool) -> None:
        self._tree = tree
        self._is_shared = is_shared

    @cached_property
    def _bindings(self) -> dict[str, str]:
        return dict(_list_imports(self._tree))

    def find(self) -> Iterator[ReplacementFact]:
        yield from self._walk(self._tree, is_for_many=self._is_shared, decorators="")

    def _walk(self, node: SyntaxNode, *, is_for_many: bool, decorators: str) -> Iterator[ReplacementFact]:
        for child in node.children:
            if child.kind in FUNCTIONS:
                name = find_name(child)
                is_hook = _AUTOMATIC.search(decorators) is not None
                is_hook |= _FOR_MANY.match(name) is not None and (self._is_shared or not name.startswith("setUp"))
                if is_hook or name == "setUpModule":
                    yield from self._read(child)
                continue
            if child.kind == "decorated_definition":
                told = " ".join(join_text(each) for each in child.children if each.kind == "decorator")
                yield from self._walk(child, is_for_many=is_for_many, decorators=told)
            elif child.kind == "expression_statement" and is_for_many:
                yield from self._read(child)
            else:
                yield from self._walk(child, is_for_many=is_for_many, decorators="")

    def _read(self, node: SyntaxNode) -> Iterator[ReplacementFact]:
        for each in node.walk():
            found = None
            if each.kind in CALLS:
                found = self._read_call(each)
            elif each.kind == "assignment" and each.children[0].kind == "attribute":
                found = self._build(each, join_text(each.children[0]).replace(" ", ""), each.children[-1])
            if found is not None:
                yield found

    def _read_call(self, call: SyntaxNode) -> ReplacementFact | None:
        names = find_callee(call)
        arguments = call.find("argument_list")
        given = (
            [] if arguments is None else [child for child in arguments.children if child.kind not in {"(", ",", ")"}]
        )
        if not given or not names or not ({"setattr", "patch"} & {*names[-2:]}):
            return None
        first = join_text(given[0])
        by_name = len(given) > 1 and "string" in given[1].kind and names[-1] in {"setattr", "object"}
        if by_name:
            target = f"{first.replace(' ', '')}.{given[1].text[1:-1]}"
            return self._build(call, target, given[_VALUE_AFTER_NAME] if len(given) > _VALUE_AFTER_NAME else None)
        if "string" in given[0].kind and "." in first:
            return self._build(call, first.strip("\"'"), given[1] if len(given) > 1 else None, is_path=True)
        return None

    def _build(
        self, node: SyntaxNode, target: str, value: SyntaxNode | None, *, is_path: bool = False
    ) -> ReplacementFact | None:
        root, _, rest = target.partition(".")
        module = root if is_path else self._bindings.get(root, "")
        name = target.rpartition(".")[2]
        is_plain = value is not None and (value.kind in _VALUES or is_literal(value))
        if not module or not rest or is_plain or not _NAME.match(name) or name.isupper():
            return None
        whole = target if is_path else f"{module}.{target}"
        return ReplacementFact(line=node.start, name=name, target=whole, origin=module.partition(".")[0] or OWN)


_VALUE_AFTER_NAME = 2
OWN = "."
"""Stands for the origin of what is imported by its place."""


def _list_imports(tree: SyntaxNode) -> Iterator[tuple[str, str]]:
    """The names that imports bind, and the modules they are from; of a package above the tests, with a dot."""
    for each in tree.walk():
        if each.kind == "import_statement":
            for child in each.children[1:]:
                parts = join_text(child).replace(" . ", ".").split(" as ")
                yield parts[-1].strip().partition(".")[0], parts[0].strip()
        elif each.kind == "import_from_statement":
            bare = join_text(each.children[1]).replace(" ", "")
            names = join_text(each).partition(" import ")[2]
            if bare.startswith(OWN) and len(bare) - len(bare.lstrip(OWN)) <= _OWN_FOLDER:
                continue
            for name in names.strip("() ").split(","):
                parts = name.split(" as ")
                if bound := parts[-1].strip():
                    yield bound, OWN + bare.lstrip(OWN) if bare.startswith(OWN) else bare


# --- JavaScript and Ruby -------------------------------------------------------------------------------------------

_IMPORTS = re.compile(
    r"""import\s+(?:\*\s+as\s+)?(\w+|\{[^}]*\})\s+from\s+["'](\.\.?/[^"']+)["']|"""
    r"""(?:const|let|var)\s+(\w+|\{[^}]*\})\s*=\s*require\(\s*["'](\.\.?/[^"']+)["']"""
)
_MOCKED = re.compile(r"""\b(?:jest|vi|mock)\.(?:doM|m)(?:ock|odule)\(\s*["'`](\.\.?/[^"'`]+)["'`]""")
_SET = re.compile(
    r"""^\s*(\w+)(?:\.prototype)?\.(\w+)\s*=(?!=)(?!\s*(?:["'`\d{\[-]|(?:true|false|null|undefined)\b))|"""
    r"""\bspyOn\(\s*(\w+)(?:\.prototype)?,\s*["'`](\w+)["'`].{0,200}\.mock|"""
    r"""\b(?:sinon|sandbox|mock)\.(?:stub|replace|method)\(\s*(\w+)(?:\.prototype)?,\s*["'`](\w+)["'`]|"""
    r"""\bdefineProperty\(\s*(\w+)(?:\.prototype)?,\s*["'`](\w+)["'`]"""
)


def _find_in_script(text: str) -> Iterator[ReplacementFact]:
    imported = dict[str, str]()
    for found in _IMPORTS.finditer(text):
        names, module = (found[1], found[2]) if found[1] else (found[3], found[4])
        imported |= dict.fromkeys(re.findall(r"\w+", names), module)
    for number, line in _list_lines(text):
        for found in _MOCKED.finditer(line):
            name = PurePosixPath(found[1]).name.partition(".")[0]
            if not _IS_STUB.search(found[1]):
                yield ReplacementFact(line=number, name=name, target=found[1], origin=OWN)
        for found in _SET.finditer(line):
            root, name = [each for each in found.groups() if each][:2]
            if root in imported and not name.isupper() and not _IS_STUB.search(imported[root]):
                yield ReplacementFact(line=number, name=name, target=f"{imported[root]}.{root}.{name}", origin=OWN)


_IS_STUB = re.compile(r"(^|/)(tests?|spec|__tests__|__mocks__|mocks?|stubs?|fixtures?|helpers?)(/|$)")
_RUBY = re.compile(
    r"\ballow(?:_any_instance_of)?\(\s*([A-Z][\w:]*)[\w.]*\s*\)\.to\s+receive\(\s*:(\w+[?!]?)|"
    r"\b([A-Z][\w:]*)\.(?:any_instance\.)?(?:stubs|define_method|define_singleton_method|redefine_method)\(?\s*:(\w+[?!]?)|"
    r"\b([A-Z][\w:]*)\.(prepend|class_eval|class_exec|instance_eval)\b"
)


def _find_in_ruby(text: str) -> Iterator[ReplacementFact]:
    for number, line in _list_lines(text):
        for found in _RUBY.finditer(line):
            owner, name = [each for each in found.groups() if each][:2]
            root = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", owner.partition("::")[0]).lower()
            yield ReplacementFact(line=number, name=name, target=f"{owner}.{name}", origin=root)


def _list_lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line[:LONGEST]) for number, line in enumerate(text.split("\n"), 1))


# --- what may be replaced ------------------------------------------------------------------------------------------

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_OUTSIDE_WORDS = """
    time now today clock sleep random rand seed shuffle uuid urandom token nonce open read write request requests
    response http https url urls fetch send mail mails mailer email emails smtp sms notify notifier notification
    notifications publish client clients session sessions connect connection connections socket network net db
    database sql engine redis cache caches queue task tasks celery delay enqueue job jobs worker storage upload
    download api apis env environ environment config configuration settings options log logs logger logging print
    warn stdout stderr subprocess run exec execute spawn process thread threads browser git docker telemetry metrics
    metric analytics tracking sentry user login auth authenticate exists home cwd path dir folder tmp temp host
    hostname platform signal password hash bcrypt rate limit throttle retry retries backoff timeout wait interval
    stripe payment gateway remote server external service services aws s3 bucket kafka rabbit broker prompt input
    getpass tty terminal keyring credentials secret secrets webhook geo ip dns lookup version
"""
_OUTSIDE = frozenset(_OUTSIDE_WORDS.split())
"""Words of what tests rightly do without: time, chance, files, networks, settings and what costs too much."""


def is_outside(target: str) -> bool:
    """Whether a function is about the world outside of the program, as its name and its module say."""
    return any(word.lower() in _OUTSIDE for word in _WORDS.findall(target.partition(".")[2] or target))


def list_origins(packages: frozenset[str]) -> frozenset[str]:
    """The names of a repository's packages that hold its program."""
    return packages - _NO_PROGRAM | {OWN}


_NO_PROGRAM = frozenset(
    {"tests", "test", "testing", "conftest", "setup", "docs", "examples", "scripts", "tools", "tasks"}
)
