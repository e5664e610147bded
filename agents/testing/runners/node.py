"""jest, vitest, mocha, ava, tape and Node's own runner, as the manifest and scripts of a repository name them."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, groupby
from pathlib import PurePosixPath
from urllib.parse import quote

from agents.testing.runners.runner import JOINED, ReportPlace, RepositoryFacts, Runner, match_names, strip_path
from domain.globs import matches
from domain.runs.testing import Framework

_SOURCE = r"\.[cm]?[jt]sx?$"
_NAMED_TESTS = re.compile(rf"(^|/)__tests__/.*{_SOURCE}|\.(test|spec){_SOURCE}")
_NODE_TESTS = re.compile(r"(^|/)(test/.*|test|test[-_.][^/]*|[^/]*[-_.]test)\.[cm]?[jt]s$")
_MOCHA_TESTS = re.compile(rf"(^|/)(tests?|specs?|__tests__)/.*{_SOURCE}|[-_.](test|spec){_SOURCE}")
_AVA_TESTS = re.compile(
    r"(^|/)(__tests__|tests?)/(?!(.*/)?(_|(helper|fixture)s?/)).*\.[cm]?[jt]s$"
    r"|(^|/)test(-[^/]*)?\.[cm]?[jt]s$|\.(test|spec)\.[cm]?[jt]s$"
)
_SCRIPTS = re.compile(r"tests?\b|unit\b|mocha|jest|vitest|ava\b|tape")
_IN_A_SHELL = re.compile(r"[<>$`()\n\\]")
_WRAPPERS = frozenset({"cross-env", "npx", "c8", "nyc", "env"})
_LOADS = re.compile(r"(?:^| )((?:-r|--(?:require|import|loader))[ =]\S+|--experimental-[\w-]+)")
"""What has Node load something before the program."""
_WITH_LINES = "--includeTaskLocation"
"""Has vitest 2 and later tell the lines of tests."""
_OURS = {_WITH_LINES: 0, "--reporter-option": 1, "--no-bail": 0}
"""The options that Forge adds and old versions of vitest and mocha refuse, with the values that follow each."""
_UNKNOWN = re.compile(rb"nknown option [`'](--[\w-]+)")
_FILTERED = frozenset({"jest", "vitest"})  # whose scripts name parts of paths
_LIKE_NODE = frozenset({"node", "tsx"})
_REPORTS = frozenset({"--reporter", "-R"})
_STOPS = frozenset({"--bail", "-b", "--fail-fast"})
_TAKES_A_VALUE = frozenset({*"rcRtgfpu", "require", "config", "import", "loader", "project", "projects", "root", "env"})
_TAKES_A_VALUE_TOO = frozenset(
    {"timeout", "test-timeout", "testTimeout", "maxWorkers", "extension", "ui", "dir", "ignore", "exclude", "match"}
)


def list_node_runners(facts: RepositoryFacts) -> list[Runner]:
    """The runners that a script ``test`` calls, and then those that are installed or configured."""
    test = facts.scripts.get("test", "")
    found: list[Runner] = []
    for make, name, framework in _MAKERS:
        scripts = [text for key, text in facts.scripts.items() if _SCRIPTS.match(key)]
        call = next((call for text in [test, *scripts] if (call := _find_call(text, name))), None)
        if call is not None:
            call = replace(call, places=_expand(call.places, facts)) if name == "node" else call
            whole = _find_call(test, name)
            reason = f"`package.json` has a script `test` ({framework.value})"
            runner = make(call, reason, whole is not None and whole.is_whole)
            found.append(runner if name in _FILTERED else replace(runner, collects=_add_named(runner, call, facts)))
        elif name in facts.packages or any(re.match(rf"\.?{name}(rc|\.config)\b", path) for path in facts.paths):
            found.append(make(_Call(), f"`{name}` is among the packages of `package.json`", False))
    return found


def _add_named(runner: Runner, call: "_Call", facts: RepositoryFacts) -> re.Pattern[str]:
    """What a runner collects, with the files that its script names and whose own names tell nothing."""
    named = [path for path in facts.paths if re.search(_SOURCE, path) and not runner.collects.search(path)]
    places = [str(PurePosixPath(place)) for place in call.places]
    named = sorted(path for path in named if not path.endswith(".d.ts") and matches(path, places))
    return re.compile("|".join((runner.collects.pattern, *(f"^{re.escape(path)}$" for path in named))))


def _expand(places: Sequence[str], facts: RepositoryFacts) -> tuple[str, ...]:
    """Patterns of files as a shell reads them: Node does not before version 21."""

    def find(place: str) -> list[str]:
        pattern = PurePosixPath(place)
        depth = len(pattern.parts)
        return sorted(each for each in facts.paths if each.count("/") + 1 == depth and PurePosixPath(each).match(place))

    return tuple(each for place in places for each in (("*" in place and find(place)) or [place]))


@dataclass(frozen=True)
class _Call:
    """How a script calls a runner.

    :param places: the files and patterns that it names, which give way to the files that Forge names.
    :param is_whole: whether the script does nothing else.
    :param program: what runs in the place of Node itself, with its options.
    """

    options: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    is_whole: bool = False
    program: str = "node"


def _find_call(script: str, name: str) -> _Call | None:
    """How a script calls a runner; None if it does not, or only in ways that ask for a shell."""
    if _IN_A_SHELL.search(script):
        return None
    parts = _split_commands(script)
    for rest in parts:
        environment: list[tuple[str, str]] = []
        while rest and (rest[0] in _WRAPPERS or re.match(r"[A-Za-z_]\w*=", rest[0])):
            key, is_set, value = rest.pop(0).partition("=")
            environment += [(key, value)] if is_set else []
        if rest and rest[0].startswith("-"):  # options of what wraps it
            rest = [*dropwhile(lambda word: word.rpartition("/")[2] not in {name, f"_{name}", "node"}, rest)]
        program = rest[0].rpartition("/")[2].removeprefix("_") if rest else ""
        started = (f"/bin/{name}.js", f"/bin/_{name}", f"/.bin/{name}", f"/.bin/_{name}")
        at = next((at for at, word in enumerate(rest) if word.endswith(started)), 0)
        if program == "node" and at:
            loads: list[str] = _LOADS.findall(" ".join(rest[1:at]))
            environment += [("NODE_OPTIONS", " ".join(loads))] if loads else []
            rest = rest[at:]
        elif name == "node" and program in _LIKE_NODE and "--test" in rest:
            call = _read_options(rest[1:], tuple(environment), is_whole=len(parts) == 1)
            return replace(call, program=program)
        elif program != name or name == "node":
            continue
        return _read_options(rest[1:], tuple(environment), is_whole=len(parts) == 1)
    return None


def _split_commands(script: str) -> list[list[str]]:
    """The words of each command of a script, whatever stands between them; none if it cannot be read."""
    words = shlex.shlex(script, posix=True, punctuation_chars="|&;")
    words.whitespace_split, words.commenters = True, ""
    try:
        return [[*part] for is_between, part in groupby(words, lambda word: not word.strip("|&;")) if not is_between]
    except ValueError:
        return []


def _read_options(words: Sequence[str], environment: tuple[tuple[str, str], ...], *, is_whole: bool) -> _Call:
    """The options and places of a call, without those that end a run at its first failure or report in another way."""
    options: list[str] = []
    places: list[str] = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        takes = (
            before.startswith("-") and "=" not in before and before.lstrip("-") in _TAKES_A_VALUE | _TAKES_A_VALUE_TOO
        )
        if word.partition("=")[0] in _STOPS or (before in _STOPS and word.isdigit()):
            continue
        if word.partition("=")[0] in _REPORTS or before in _REPORTS:
            continue
        if word.startswith("-") or takes:
            options.append(word)
        else:
            places.append(word)
    return _Call(tuple(options), tuple(places), environment, is_whole)


def _drop(options: Sequence[str], *names: str) -> tuple[str, ...]:
    """The options without those that would keep running, measure, or report in another way."""
    return tuple(word for word in options if word.partition("=")[0] not in names)


def _make_jest(call: _Call, reason: str, is_whole: bool) -> Runner:
    options = _drop(call.options, "--ci", "--json", "--watch", "--watchAll", "--coverage", "--silent")
    report = ("--json", "--outputFile={results}/jest.json", "--testLocationInResults", "--bail=0")
    words = ("npx", "--no-install", "jest", "--ci", *options, *report)
    return Runner(
        Framework.jest,
        reason,
        _NAMED_TESTS,
        words,
        ReportPlace(format="jest", file="jest.json"),
        call.environment,
        call.places,
        lambda files, names: ("--runTestsByPath", *files, *(_flag("-t", names))),
        is_whole=is_whole,
        unmeasured=(*words, "--coverage=false"),
    )


def drop_unknown(words: Sequence[str], printed: bytes) -> tuple[str, ...]:
    """The words of a command without an option of ours that this version of the runner does not know yet; else none."""
    named = _UNKNOWN.search(printed)
    option = named[1].decode() if named else ""
    if option not in _OURS or option not in words:
        return ()
    at = words.index(option)
    return (*words[:at], *words[at + 1 + _OURS[option] :])


def _make_vitest(call: _Call, reason: str, is_whole: bool) -> Runner:
    options = _drop(call.options, "--run", "--watch", "--coverage")
    places = tuple(word for word in call.places if word not in {"run", "watch", "dev"})
    report = ("--reporter=default", "--reporter=json", "--outputFile.json={results}/vitest.json", _WITH_LINES)
    words = ("npx", "--no-install", "vitest", "run", *options, *report, "--bail=0")
    return Runner(
        Framework.vitest,
        reason,
        _NAMED_TESTS,
        words,
        ReportPlace(format="jest", file="vitest.json"),
        call.environment,
        places,
        lambda files, names: (*files, *_flag("-t", names)),
        is_whole=is_whole,
        unmeasured=(*words, "--coverage.enabled=false"),
    )


def _make_mocha(call: _Call, reason: str, is_whole: bool) -> Runner:
    options = _drop(call.options, "--watch", "-w")
    report = ("--reporter", "json", "--reporter-option", "output={results}/mocha.json")
    return Runner(
        Framework.mocha,
        reason,
        _MOCHA_TESTS,
        ("npx", "--no-install", "mocha", *options, *report, "--no-bail"),
        ReportPlace(format="mocha", file="mocha.json", or_printed=True),  # before version 9.2
        call.environment,
        call.places,
        lambda files, names: (*files, *_flag("--grep", names)),
        is_whole=is_whole,
    )


def _make_ava(call: _Call, reason: str, is_whole: bool) -> Runner:
    options = _drop(call.options, "--tap", "-t", "--watch", "-w", "--verbose", "-v")
    return Runner(
        Framework.ava,
        reason,
        _AVA_TESTS,
        ("npx", "--no-install", "ava", "--tap", *options),
        ReportPlace(format="ava", file=""),
        call.environment,
        call.places,
        can_name=False,
        is_whole=is_whole,
    )


def _make_tape(call: _Call, reason: str, is_whole: bool) -> Runner:
    return Runner(
        Framework.tape,
        reason,
        _NODE_TESTS,
        ("npx", "--no-install", "tape", *call.options),
        ReportPlace(format="tap", file=""),
        call.environment,
        call.places or ("test/**/*.js",),
        can_name=False,
        is_whole=is_whole,
        before=JOINED,
        shown=shlex.join(("npx", "tape", *call.options)),
    )


_REPORTER = "data:text/javascript," + quote(
    """export default async function* (events) {
  const above = {};
  for await (const { type, data } of events) {
    const names = (above[data.file ?? ""] ??= []);
    if (type === "test:start") names[data.nesting] = data.name;
    if (type !== "test:pass" && type !== "test:fail") continue;
    const error = data.details?.error, cause = error?.cause ?? error;
    if (error?.failureType === "subtestsFailed" || data.details?.type === "suite" && !error) continue;
    yield JSON.stringify({
      file: data.file ?? "",
      names: [...names.slice(0, data.nesting), data.name],
      line: data.line ?? null,
      outcome: error ? "failed" : data.skip !== undefined || data.todo !== undefined ? "skipped" : "passed",
      message: String(cause?.message ?? cause ?? ""),
      details: String(cause?.stack ?? cause ?? ""),
    }) + "\\n";
  }
}"""
)
"""A reporter as the address of a module, because Node's own reports do not name files before version 22."""


def _make_node(call: _Call, reason: str, is_whole: bool) -> Runner:
    report = (
        *("--test-reporter=spec", "--test-reporter-destination=stdout"),
        *(f"--test-reporter={_REPORTER}", "--test-reporter-destination={results}/node.json"),
    )
    options = _drop(call.options, "--test", "--watch")
    program = (call.program,) if call.program == "node" else ("npx", "--no-install", call.program)
    return Runner(
        Framework.node,
        reason,
        _NODE_TESTS,
        (*program, "--test", *options, *report),
        ReportPlace(format="node", file="node.json"),
        call.environment,
        everything=call.places,
        can_name=False,
        is_whole=is_whole,
        shown=shlex.join((call.program, "--test", *options)),
    )


def _flag(option: str, names: Sequence[str]) -> tuple[str, ...]:
    return (option, match_names([strip_path(name) for name in names])) if names else ()


_MAKERS: tuple[tuple[Callable[[_Call, str, bool], Runner], str, Framework], ...] = (
    (_make_vitest, "vitest", Framework.vitest),
    (_make_jest, "jest", Framework.jest),
    (_make_mocha, "mocha", Framework.mocha),
    (_make_ava, "ava", Framework.ava),
    (_make_tape, "tape", Framework.tape),
    (_make_node, "node", Framework.node),
)
