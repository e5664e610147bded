"""pytest and unittest, as a Python repository has them."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files as resources

from agents.testing.runners.pytest_settings import drop_coverage, find_left_out, list_added
from agents.testing.runners.runner import RepositoryFacts, Runner
from domain.runs.testing import Framework

PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_PYTEST_SECTION = re.compile(r"^\[(tool\.pytest\b|tool:pytest\]|pytest\])", re.MULTILINE)
_FUNCTION = re.compile(r"^(async )?def test", re.MULTILINE)  # which unittest does not see
_PYTEST_FILES = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|tests?)\.py$")
_UNITTEST_FILES = re.compile(r"(^|/)(test[^/]*|[^/]*_test)\.py$")
_REPORT = ("-o", "junit_family=xunit1", "--junit-xml={results}/junit.xml", "--continue-on-collection-errors")
_WHOLE = "--maxfail=0"  # whatever ``addopts`` says: what follows a failed test is told, too
_MEASURED = ("-m", "coverage", "run", "--branch")
_UNMEASURABLE = re.compile(rb"error: unrecognized arguments: --cov\b|No module named '?coverage\b")
_IS_SOURCE = re.compile(r"src/.*\.py$")
_OF_PYTHON = frozenset({Framework.pytest, Framework.unittest})
_SCRIPT = resources(__package__ or "").joinpath("unittest_report.py").read_text("utf-8")


def find_pytest(facts: RepositoryFacts) -> Runner | None:
    """pytest with reports, and with coverage by coverage.py if the repository uses that and not pytest's plug-in."""
    if not facts.tests(".py") or not (sign := _explain_pytest(facts)):
        return None
    measured = _MEASURED if uses_coverage(facts) else ()
    words = ("python3", *measured, "-m", "pytest", _WHOLE, *build_pytest_options(facts, ()))
    added = list_added(facts)
    kept = drop_coverage(added)
    own = () if kept == added else ("-o", f"addopts={shlex.join(kept)}")
    plain = ("python3", "-m", "pytest", _WHOLE, *_REPORT, *own)
    left_out = find_left_out(facts)
    return Runner(
        Framework.pytest, sign, _PYTEST_FILES, words, select=_select_pytest, unmeasured=plain, left_out=left_out
    )


def uses_coverage(facts: RepositoryFacts) -> bool:
    """Whether pytest is to be run by coverage.py."""
    declared = facts.text(*PYTHON)
    return "pytest-cov" not in declared and re.search(r"\bcoverage\b", declared) is not None


def build_pytest_options(facts: RepositoryFacts, words: tuple[str, ...]) -> tuple[str, ...]:
    """The options for reports; only the older family of JUnit names file and line.

    A file that cannot be collected does not keep the others from being run.

    :param words: that are there already.
    """
    if "pytest-cov" not in facts.text(*PYTHON):
        return _REPORT
    chosen = any(word == "--cov" or word.startswith("--cov=") for word in words)
    return (*_REPORT, *(() if chosen else ("--cov",)), "--cov-branch", "--cov-report=xml:{results}/coverage.xml")


def build_environment(facts: RepositoryFacts, framework: Framework, code: str) -> Mapping[str, str]:
    """What lets tests import packages below ``src/``, which nothing installed; empty where none lie there.

    Not where one of them bears the name of a module of Python, which it would hide from everybody.

    :param code: absolute path of the checkout, as the command sees it.
    """
    below = {path.split("/")[1].removesuffix(".py") for path in facts.paths if _IS_SOURCE.match(path)}
    is_layout = bool(below) and "__init__" not in below and below.isdisjoint(sys.stdlib_module_names)
    return {"PYTHONPATH": f"{code}/src"} if is_layout and framework in _OF_PYTHON else {}


def drop_measuring(words: Sequence[str], printed: bytes) -> tuple[str, ...]:
    """The words of a command without what measures coverage, if it failed because that is not installed; else none."""
    if not _UNMEASURABLE.search(printed):
        return ()
    found = next((at for at in range(len(words)) if tuple(words[at : at + len(_MEASURED)]) == _MEASURED), None)
    rest = words if found is None else (*words[:found], *words[found + len(_MEASURED) :])
    return tuple(word for word in rest if not word.startswith("--cov"))


def _explain_pytest(facts: RepositoryFacts) -> str:
    declared = facts.text(*PYTHON)
    if _PYTEST_SECTION.search(declared):
        return "because it is configured"
    if named := next((path for path in ("pytest.ini", ".pytest.ini") if path in facts.paths), None):
        return f"because there is a `{named}`"
    if re.search(r"\bpytest\b", declared):
        return "because a manifest names it"
    if any(path.rpartition("/")[2] == "conftest.py" for path in facts.paths):
        return "because there is a `conftest.py`"
    plain = facts.find_text(".py", _FUNCTION)
    return f"because `{plain}` has tests outside of classes" if plain else ""


def _select_pytest(files: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Ids as they are; a file that could not be collected is named by its module in its own id."""
    return tuple(dict.fromkeys(map(_name_for_pytest, names))) if names else tuple(files)


def _name_for_pytest(name: str) -> str:
    path, _, rest = name.partition("::")
    return path if rest == path.removesuffix(".py").replace("/", ".") else name


def find_unittest(facts: RepositoryFacts) -> Runner | None:
    """unittest, run by a script of ours that writes the report."""
    tests = facts.tests(".py")
    if not tests:
        return None
    sign = f"because there are Python tests (as {tests[0]}) and no sign of pytest"
    return Runner(
        Framework.unittest,
        sign,
        _UNITTEST_FILES,
        ("python3", "-c", _SCRIPT),
        select=_select_unittest,
        shown="python3 -m unittest",
    )


def _select_unittest(files: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Dotted names; a subtest is run with its test."""
    return tuple(dict.fromkeys(map(_name_for_unittest, names))) if names else tuple(files)


def _name_for_unittest(name: str) -> str:
    path, *rest = name.split("::")
    module = path.removesuffix(".py").replace("/", ".")
    return ".".join([module, *(part.partition(" ")[0] for part in rest if part != module)])
