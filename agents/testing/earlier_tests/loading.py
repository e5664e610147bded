"""Rewrites files of tests that cannot be loaded, so that what is gone from the program excuses only who needs it."""

import re
from collections.abc import Collection, Sequence

from agents.syntax.tests import TestText
from agents.testing.earlier_tests.names import shorten

_FROM = re.compile(r"^([ \t]*)from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(?:\(([^()]*)\)|([^\n#]*))", re.MULTILINE)
_IMPORT = re.compile(r"^([ \t]*)import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?=#|$)", re.MULTILINE)
_JS_IMPORT = re.compile(
    r"""^import\s+(?:type\s+)?(?:(?P<star>\*\s+as\s+\w+|\w+)\s*,?\s*)?(?:\{(?P<names>[^}]*)\})?\s*from\s*(?P<from>["'][^"']+["']);?""",
    re.MULTILINE,
)
_REQUIRE = re.compile(
    r"""^(?:const|let|var)\s+(?P<to>\w+|\{[^}]*\})\s*=\s*require\((?P<from>["'][^"']+["'])\);?""", re.MULTILINE
)


def stub_names(path: str, text: str, gone: Collection[str]) -> str:
    """A file whose imports of some names are values that nobody can use; unchanged if it imports none of them.

    :param gone: as the error of its language names them.
    """
    shorts = {shorten(name) for name in gone}
    if path.endswith((".py", ".pyi")):
        return _IMPORT.sub(lambda it: _stub_module(it, gone), _FROM.sub(lambda it: _stub_from(it, gone), text))
    if re.search(r"\.[cm]?[jt]sx?$", path):
        text = _JS_IMPORT.sub(lambda it: _stub_js(it, shorts, gone), text)
        return _REQUIRE.sub(lambda it: _stub_require(it, shorts), text)
    return text


def _stub_from(found: re.Match[str], gone: Collection[str]) -> str:
    indent, module, wrapped, plain = found.groups()
    listed = [part.partition("#")[0].strip() for part in re.split(r"[,\n]", wrapped or plain or "")]
    listed = [part for part in listed if part]
    is_gone = any(module == name or module.startswith(f"{name}.") or module.endswith(f".{name}") for name in gone)
    kept = [part for part in listed if not is_gone and part.split()[0] not in gone]
    if kept == listed:
        return found[0]
    left = [f"{indent}{part.split()[-1]} = None" for part in listed if part not in kept and part != "*"]
    again = [f"{indent}from {module} import {', '.join(kept)}"] if kept else []
    return "; ".join([*again, *(each.strip() for each in left)] if again else [f"{indent}pass", *map(str.strip, left)])


def _stub_module(found: re.Match[str], gone: Collection[str]) -> str:
    indent, module, alias = found.groups()
    if not any(module == name or module.startswith(f"{name}.") for name in gone):
        return found[0]
    return f"{indent}{alias or module.partition('.')[0]} = None"


def _stub_js(found: re.Match[str], shorts: Collection[str], gone: Collection[str]) -> str:
    listed = [part.strip() for part in (found["names"] or "").split(",") if part.strip()]
    star = (found["star"] or "").split()[-1:]
    is_gone = shorten(found["from"].strip("\"'")) in shorts and not set(gone).intersection(
        part.split()[0] for part in listed
    )
    kept = [part for part in listed if not is_gone and part.split()[0] not in shorts]
    if kept == listed and not is_gone:
        return found[0]
    names = [part.split()[-1] for part in listed if part not in kept] + (star if is_gone else [])
    stubs = " ".join(f"const {name} = undefined;" for name in names)
    again = f"import {{ {', '.join(kept)} }} from {found['from']}; " if kept else ""
    if star and not is_gone:
        again = f"import {found['star']} from {found['from']}; {again}"
    return f"{again}{stubs}"


def _stub_require(found: re.Match[str], shorts: Collection[str]) -> str:
    if shorten(found["from"].strip("\"'")) not in shorts:
        return found[0]
    inner = found["to"].strip("{} \n")
    names = [re.split(r"[:\s]+", part.strip())[-1] for part in inner.split(",") if part.strip()]
    return " ".join(f"const {name} = undefined;" for name in names)


_BENCHMARK = re.compile(r"^func Benchmark[^\n]*\{\n(?:[^}\n][^\n]*\n|\n)*\}", re.MULTILINE)
_PLACE = r"(?P<path>[\w./@+-]*%s)[:(](?P<line>\d+)|-->\s*(?P<other>[\w./@+-]*%s):(?P<number>\d+)"


def find_error_lines(path: str, output: str) -> tuple[int, ...]:
    """The lines of a file that a compiler complains about."""
    name = re.escape(path.rpartition("/")[2])
    found = re.finditer(_PLACE.replace("%s", rf"(?<![\w-]){name}"), output)
    return tuple(dict.fromkeys(int(each["line"] or each["number"]) for each in found))


def cut_tests(text: str, tests: Sequence[TestText], lines: Collection[int]) -> tuple[str, tuple[TestText, ...]]:
    """A file without the tests and benchmarks in which some lines are, and these tests; an import is only emptied.

    The numbers of all other lines stay.
    """
    cut = tuple(test for test in tests if any(test.start <= line <= test.end for line in lines))
    within = {line for test in cut for line in range(test.start, test.end + 1)}
    emptied = within | {line for line in lines if _is_import(text, line)} | _find_benchmarks(text, lines)
    kept = ["" if number in emptied else line for number, line in enumerate(text.split("\n"), 1)]
    return "\n".join(kept), cut


def _find_benchmarks(text: str, lines: Collection[int]) -> set[int]:
    """The lines of the benchmarks of Go in which some lines are: one that is not built keeps all tests from running."""
    spans = [
        range(text.count("\n", 0, each.start()) + 1, text.count("\n", 0, each.end()) + 2)
        for each in _BENCHMARK.finditer(text)
    ]
    return {number for span in spans if any(line in span for line in lines) for number in span}


def _is_import(text: str, line: int) -> bool:
    lines = text.split("\n")
    return (
        0 < line <= len(lines)
        and re.match(r'\s*(import\b|use\b|using\b|(\w+ )?"[\w./-]+"$)', lines[line - 1]) is not None
    )
