"""Reads what `go test -v`, `cargo test`, `minitest -v`, test-unit, ava and tape print of each test."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from domain.runs.testing import CaseOutcome


@dataclass(frozen=True)
class Ended:
    """One test of a report.

    :param path: of its file, absolute or relative; empty if unknown.
    :param names: of its groups and its own, from the outside in; none if it stands for the whole file.
    """

    path: str
    names: tuple[str, ...]
    outcome: CaseOutcome
    line: int | None = None
    message: str = ""
    details: str = ""


_GO_END = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \(")
_GO_START = re.compile(r"=== (?:RUN|NAME|CONT) +(\S+)")
_GO_PACKAGE = re.compile(r"(?:ok  |FAIL|\?   )\t(\S+)(.*)")
_GO_LETTERS = {"PASS": CaseOutcome.passed, "FAIL": CaseOutcome.failed, "SKIP": CaseOutcome.skipped}


def read_go(document: bytes, paths: Collection[str], sources: Mapping[str, str]) -> Iterator[Ended]:
    """The tests of Go, package by package; a package that is not built stands for all of its files."""
    folders = {path.rpartition("/")[0] for path in paths if path.endswith("_test.go")}
    ended: dict[str, CaseOutcome] = {}
    printed: defaultdict[str, list[str]] = defaultdict(list)
    current = ""
    for line in _lines(document):
        if start := _GO_START.match(line):
            current = start[1]
        elif end := _GO_END.match(line):
            ended[end[2]] = _GO_LETTERS[end[1]]
            current = end[2]
        elif built := re.match(r"# (\S+)", line):
            current = f"# {built[1]}"
        elif package := _GO_PACKAGE.fullmatch(line):
            folder = _find_folder(package[1], folders)
            files = {path: text for path, text in sources.items() if path.rpartition("/")[0] == folder}
            if "[build failed]" in package[2] or "[setup failed]" in package[2]:
                said = "\n".join(printed[f"# {package[1]}"] or printed[""] or [line])
                owned = sorted(
                    path for path in paths if path.endswith("_test.go") and path.rpartition("/")[0] == folder
                )
                yield from (Ended(path, (), CaseOutcome.error, details=said) for path in owned)
            for name, outcome in ended.items():
                path, at = _find(rf"^func {re.escape(name.split('/')[0])}\(", files)
                own = [text for key, text in printed.items() if key == name or key.startswith(f"{name}/")]
                said = "" if outcome is CaseOutcome.passed else "\n".join(line for text in own for line in text)
                names = (name,) if path else (package[1], name)
                yield Ended(path, names, outcome, at, details=said)
            ended.clear()
            current = ""
            for key in [key for key in printed if not key.startswith("# ")]:
                del printed[key]
        else:
            printed[current].append(line)


def _find_folder(package: str, folders: Collection[str]) -> str:
    """The folder of a package: the longest that its import path ends with, or else the top."""
    fitting = [folder for folder in folders if package == folder or package.endswith(f"/{folder}")]
    return max(fitting, key=len, default="")


def _find(pattern: str, sources: Mapping[str, str]) -> tuple[str, int | None]:
    """The first file with a line that matches, and the number of that line."""
    for path, text in sources.items():
        if found := re.search(pattern, text, re.MULTILINE):
            return path, text.count("\n", 0, found.start()) + 1
    return "", None


_CARGO_TARGET = re.compile(r" +Running (?:unittests )?(\S+\.rs) \((?:\S*/)?([\w-]+)-[0-9a-f]+\)| +Doc-tests (\S+)")
_CARGO_TEST = re.compile(r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b.*")
_CARGO_OUTPUT = re.compile(r"---- (.+?) stdout ----")
_CARGO_WORDS = {"ok": CaseOutcome.passed, "FAILED": CaseOutcome.failed, "ignored": CaseOutcome.skipped}


def read_cargo(document: bytes, paths: Collection[str], sources: Mapping[str, str]) -> Iterator[Ended]:
    """The tests of Rust, target by target, and the files that could not be compiled."""
    found: dict[tuple[str, str], CaseOutcome] = {}
    printed: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    target, shown = "", ""
    error: list[str] = []
    for line in _lines(document):
        if named := _CARGO_TARGET.fullmatch(line):
            target, shown = _find_target(named[1] or "", named[2] or named[3] or "", paths), ""
        elif test := _CARGO_TEST.fullmatch(line):
            found[target, test[1]] = _CARGO_WORDS[test[2]]
        elif output := _CARGO_OUTPUT.fullmatch(line):
            shown = output[1]
        elif line == "failures:" or line.startswith("test result: "):
            shown = ""
        elif shown:
            printed[target, shown].append(line)
        if re.match(r"error(\[|:)", line):
            error = [line]
        elif error and line:
            error.append(line)
            if place := re.match(r" +--> ([^:]+):\d+:\d+", line):
                yield Ended(place[1], (), CaseOutcome.error, message=error[0], details="\n".join(error))
        else:
            error = []
    for (file, name), outcome in found.items():
        inside = _find_module(file, name, paths)
        own = {inside: sources[inside]} if inside in sources else {}
        _, at = _find(rf"\bfn {re.escape(name.rpartition('::')[2])}\b", own)
        yield Ended(inside, (name,), outcome, at, details="\n".join(printed[file, name]))


def _find_target(file: str, crate: str, paths: Collection[str]) -> str:
    """The path of a target's file, which cargo names below its crate's folder."""
    fitting = sorted((path for path in paths if f"/{path}".endswith(f"/{file}")), key=len)
    near = [path for path in fitting if crate in path.replace("-", "_")]
    return next(iter([path for path in fitting if path == file] or near or fitting), file)


def _find_module(file: str, name: str, paths: Collection[str]) -> str:
    """The file of a test's module, as modules are found below the file of their target."""
    folder = file.rpartition("/")[0]
    modules = name.split("::")[:-1]
    for end in range(len(modules), 0, -1):
        start = "/".join(filter(None, (folder, *modules[:end])))
        for path in (f"{start}.rs", f"{start}/mod.rs"):
            if path in paths:
                return path
    return file


_MINITEST_TEST = re.compile(r"(\S+)#(.+) = \d+\.\d+ s = ([.FES])")
_MINITEST_NUMBER = re.compile(r" +\d+\) (Failure|Error|Skipped):")
_MINITEST_PLACE = re.compile(r"(\S+#.+?)(?: \[(.+):(\d+)\])?:")
_MINITEST_LETTERS = {
    ".": CaseOutcome.passed,
    "F": CaseOutcome.failed,
    "E": CaseOutcome.error,
    "S": CaseOutcome.skipped,
}
_TEST_UNIT_GROUP = re.compile(r"( *)(\S.*): ")
_TEST_UNIT_TEST = re.compile(r"( *)(\S.*?):\t+(.*)")
_TEST_UNIT_END = re.compile(r": \(\d+\.\d+\)$")
_UNSETTLED = dict.fromkeys(("Pending", "Omission"), CaseOutcome.skipped)
_TEST_UNIT_KINDS = _UNSETTLED | {"Failure": CaseOutcome.failed, "Error": CaseOutcome.error}
_Printed = tuple[dict[str, CaseOutcome], Mapping[str, list[str]]]
"""How each test ended, and what it printed, both by its group, ``#`` and its name."""


def read_ruby(document: bytes, paths: Collection[str], sources: Mapping[str, str]) -> Iterator[Ended]:
    """The tests of minitest, or of test-unit where that runs, and the file that ended it before any ran."""
    lines = list(_lines(document))
    found, printed = _read_test_unit(lines) if "Loaded suite -e" in lines else _read_minitest(lines)
    for whole, outcome in found.items():
        group, _, name = whole.partition("#")
        files = {
            path: text
            for path, text in sources.items()
            if re.search(rf"\b{re.escape(group.rpartition('::')[2])}\b", text)
        }
        path, at = _find(rf"\bdef {re.escape(name.partition('[')[0])}(?!\w)", files)
        path = path or next(iter(files), "")
        yield Ended(path, (group, name), outcome, at, details="\n".join(printed[whole]))
    if not found:
        for line in lines:
            named = re.search(r"([^\s:'`]+_test\.rb|[^\s:'`]*test_[^\s:'`/]+\.rb):\d+:", line)
            if named:
                path = next((path for path in paths if named[1].endswith(path)), named[1])
                yield Ended(path, (), CaseOutcome.error, details="\n".join(lines[:100]))
                return


def _read_minitest(lines: Sequence[str]) -> _Printed:
    found: dict[str, CaseOutcome] = {}
    printed: defaultdict[str, list[str]] = defaultdict(list)
    current = ""
    is_named = False
    for line in lines:
        if test := _MINITEST_TEST.search(line):
            found[f"{test[1]}#{test[2]}"] = _MINITEST_LETTERS[test[3]]
        elif _MINITEST_NUMBER.fullmatch(line):
            is_named = True
        elif is_named and (place := _MINITEST_PLACE.fullmatch(line)):
            current, is_named = place[1], False
        elif current:
            printed[current].append(line)
    return found, printed


def _read_test_unit(lines: Sequence[str]) -> _Printed:
    """Groups and tests are indented by what they are in; how a test ended stands before its seconds."""
    found: dict[str, CaseOutcome] = {}
    printed: defaultdict[str, list[str]] = defaultdict(list)
    groups: list[str] = []
    current, outcome = "", CaseOutcome.passed
    for line in lines:
        if current:
            printed[current].append(line)
            outcome = _TEST_UNIT_KINDS.get(line.partition(": ")[0], outcome)
        elif test := _TEST_UNIT_TEST.fullmatch(line):
            current, outcome = f"{'::'.join(groups[: len(test[1]) // 2])}#{test[2]}", CaseOutcome.passed
        elif group := _TEST_UNIT_GROUP.fullmatch(line):
            groups[len(group[1]) // 2 :] = [group[2]]
        if current and _TEST_UNIT_END.search(line):
            found[current], current = outcome, ""
    return found | ({current: CaseOutcome.error} if current else {}), printed


_TAP_RESULT = re.compile(r"(not )?ok\b(?: \d+)?(.*)")
_TAP_PLAN = re.compile(r"1\.\.\d+")

_AVA_FILE = re.compile(r"(\S+\.[cm]?[jt]sx?) exited with a non-zero exit code|No tests found in (\S+)")
_AVA_ERROR = re.compile(r"\w+://\S+:\d+")


def read_ava(document: bytes) -> Iterator[Ended]:
    """The tests of ava, one line each, and the files that ended before their tests.

    What went wrong outside of any test stands above the line of the file that it ended.
    """
    results: list[tuple[str, str, list[str]]] = []
    for line in _lines(document):
        if result := _TAP_RESULT.match(line):
            results.append((result[1] or "", result[2].removeprefix(" - "), [line]))
        elif results and line.startswith("  "):
            results[-1][2].append(line)
    outside: list[str] = []
    for is_bad, told, printed in results:
        name, _, directive = told.partition(" # ")
        file = _AVA_FILE.match(name)
        if file:
            yield Ended(file[1] or file[2], (), CaseOutcome.error, details="\n".join([*outside, *printed]))
        elif is_bad and _AVA_ERROR.match(name):
            outside += printed
        elif directive.startswith(("SKIP", "TODO")):
            yield Ended("", tuple(name.split(" › ")), CaseOutcome.skipped)
        else:
            outcome = CaseOutcome.failed if is_bad else CaseOutcome.passed
            yield Ended("", tuple(name.split(" › ")), outcome, details="\n".join(printed) if is_bad else "")


def read_tap(document: bytes) -> Iterator[Ended]:
    """The tests of tape, of which each asserts several things; without a plan, what is printed last ended the run.

    See testanything.org, "TAP 13 specification".
    """
    names: list[str] = []
    results: defaultdict[str, list[str]] = defaultdict(list)
    printed: defaultdict[str, list[str]] = defaultdict(list)
    is_planned = False
    for line in _lines(document):
        is_planned = is_planned or _TAP_PLAN.match(line) is not None
        if line.startswith("# "):
            names.append(line[2:].strip())
        elif names:
            result = _TAP_RESULT.match(line)
            results[names[-1]] += [] if result is None else [line]
            printed[names[-1]].append(line)
    for name in dict.fromkeys(names):
        is_broken = name == names[-1] and not is_planned
        is_failed = any(each.startswith("not ok") and not re.search(r"# (TODO|SKIP)\b", each) for each in results[name])
        is_skipped = all(re.search(r"# SKIP\b", each) for each in results[name])
        if not results[name] and not is_broken:
            continue  # a comment
        outcome = CaseOutcome.skipped if is_skipped else CaseOutcome.passed
        outcome = CaseOutcome.failed if is_failed else CaseOutcome.error if is_broken else outcome
        said = printed[name] if outcome.is_bad else []
        start = next((at for at, line in enumerate(said) if line.startswith("not ok")), 0)
        yield Ended("", (name,), outcome, details="\n".join(said[start:]))


def _lines(document: bytes) -> Iterator[str]:
    return iter(document.decode(errors="replace").replace("\r\n", "\n").split("\n"))
