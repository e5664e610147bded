"""The runners of tests in other languages than Python and JavaScript: compiled ones, which build first, and scripts."""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from agents.testing.runners.runner import JOINED, ReportPlace, RepositoryFacts, Runner, strip_path
from domain.globs import matches
from domain.runs.testing import Framework

_GO_TESTS = re.compile(r"_test\.go$")
_RUST_SOURCES = re.compile(r"\.rs$")
_JVM_TESTS = re.compile(r"(^|/)(Test[^/]*|[^/]*(Tests?|TestCase|Spec|IT))\.(java|kt|groovy|scala)$")
_DOTNET_TESTS = re.compile(r"Tests?[^/]*\.(cs|fs|vb)$")
_GATHER = """"$@"; status=$?
{ echo "<testsuites>"; find . -path "*/%s/TEST-*.xml" -exec sed "1s/<?xml[^>]*?>//" {} +; echo "</testsuites>"; } \\
  > "{results}/junit.xml"
exit $status"""


def find_go(facts: RepositoryFacts) -> Runner | None:
    """Go's own runner, a package at a time."""
    if not facts.text("go.mod") or not facts.tests("_test.go"):
        return None

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        folders = sorted({f"./{PurePosixPath(file).parent}".removesuffix("/.") for file in files})
        tests = sorted({strip_path(name).split("/")[0] for name in names})
        return (*(("-run", f"^({'|'.join(tests)})$") if tests else ()), *folders)

    return Runner(
        Framework.go,
        "because `go.mod` makes it a Go module",
        _GO_TESTS,
        ("go", "test", "-v"),
        ReportPlace(format="go", file=""),
        everything=("./...",),
        select=select,
        before=JOINED,
        shown="go test -v",
    )


def find_cargo(facts: RepositoryFacts) -> Runner | None:
    """cargo, a target at a time."""
    if not facts.text("Cargo.toml"):
        return None

    mains = {target for path in facts.paths if path.endswith("/main.rs") and (target := _find_target(path))}
    helpers = {path for path in facts.paths if path.endswith(".rs") and _is_helper(path, mains)}

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        named = {file: _find_target(file) for file in files}
        targets = [word for target in named.values() if target for word in ("--test", target)]
        if not all(named.values()):
            targets += ["--lib"] if any(path.endswith("src/lib.rs") for path in facts.paths) else []
            targets += ["--bins"] if any(path.endswith("src/main.rs") for path in facts.paths) else []
        tests = sorted({strip_path(name) for name in names})
        return (*targets, *(("--", "--exact", *tests) if tests else ()))

    return Runner(
        Framework.cargo,
        "because `Cargo.toml` makes it a Rust package",
        re.compile(rf"^(?!(?:{'|'.join(map(re.escape, sorted(helpers)))})$).*\.rs$") if helpers else _RUST_SOURCES,
        ("cargo", "test", "--no-fail-fast"),
        ReportPlace(format="cargo", file=""),
        select=select,
        before=JOINED,
        shown="cargo test --no-fail-fast",
    )


def _find_target(path: str) -> str:
    """The integration test that a file is of: its name, or the folder of its ``main.rs``; empty if it is of none."""
    found = re.match(r"(?:(?!src/)[^/]+/)*?tests/([^/]+?)(?:\.rs|/.*)$", path)
    return found[1] if found else ""


def _is_helper(path: str, mains: Collection[str]) -> bool:
    """Whether integration tests share a file: it is in a folder beside them that has no ``main.rs``."""
    target = _find_target(path)
    return bool(target) and not path.endswith(f"tests/{target}.rs") and target not in mains


def find_maven(facts: RepositoryFacts) -> Runner | None:
    """Maven's Surefire, whose reports are joined to one."""
    if "pom.xml" not in facts.paths:
        return None
    program = "./mvnw" if "mvnw" in facts.paths else "mvn"

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        classes = _name_classes(files, names, "#")
        return (f"-Dtest={','.join(classes)}", "-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false")

    return Runner(
        Framework.maven,
        "because there is a `pom.xml`",
        _JVM_TESTS,
        (program, "-B", "--fail-at-end", "-Dsurefire.skipAfterFailureCount=0", "test"),
        select=select,
        before=("sh", "-c", _GATHER % "surefire-reports", "sh"),
        shown=f"{program} -B test",
    )


def find_gradle(facts: RepositoryFacts) -> Runner | None:
    """Gradle's task `test`, whose reports are joined to one."""
    if not facts.paths & {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}:
        return None
    program = "./gradlew" if "gradlew" in facts.paths else "gradle"

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        return tuple(word for name in _name_classes(files, names, ".") for word in ("--tests", name))

    return Runner(
        Framework.gradle,
        "because there is a `build.gradle`",
        _JVM_TESTS,
        (program, "--continue", "test"),
        select=select,
        before=("sh", "-c", _GATHER % "test-results/*", "sh"),
        shown=f"{program} --continue test",
    )


def _name_classes(files: Sequence[str], names: Sequence[str], mark: str) -> list[str]:
    """Classes by the names of their files, or single methods of them; cases of a table run together."""
    if not names:
        return sorted({PurePosixPath(file).stem for file in files})
    parts = [name.split("::")[-2:] for name in names]
    return sorted({group.rpartition(".")[2] + mark + re.split(r"[\[({ ]", test)[0] for group, test in parts})


def find_dotnet(facts: RepositoryFacts) -> Runner | None:
    """dotnet's runner with a report in Visual Studio's form."""
    if not facts.find(re.compile(r"\.(cs|fs|vb)proj$|\.slnx?$")) or not facts.find(_DOTNET_TESTS):
        return None

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        parts = [f"FullyQualifiedName~{PurePosixPath(file).stem}" for file in files]
        whole = [f"FullyQualifiedName={'.'.join(name.split('::')[-2:]).partition('(')[0]}" for name in names]
        return ("--filter", "|".join(whole or parts))

    return Runner(
        Framework.dotnet,
        "because there is a project of .NET",
        _DOTNET_TESTS,
        ("dotnet", "test", "--logger", "trx;LogFileName=dotnet.trx", "--results-directory", "{results}"),
        ReportPlace(format="trx", file="dotnet.trx"),
        select=select,
    )


_RSPEC_TESTS = re.compile(r"_spec\.rb$")
_MINITEST_TESTS = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.rb$")
_PATTERN = re.compile(r"^[^#\n]*[\"']([^\"'\n]*\*[^\"'\n]*\.rb)[\"']", re.MULTILINE)
_PHPUNIT_TESTS = re.compile(r"Test\.php$")
_BATS_TESTS = re.compile(r"\.bats$")
_DOCUMENTED = ("--no-fail-fast", "--format", "documentation")
_UNSTOPPED = r"""sed -i -E 's/\bstopOn[A-Za-z]+=.(true|1).//g' phpunit*.xml* 2>/dev/null
if [ ! -x "$1" ] && command -v phpunit >/dev/null; then
  shift
  [ ! -f vendor/autoload.php ] || grep -qs "bootstrap *=" phpunit*.xml* || set -- --bootstrap vendor/autoload.php "$@"
  set -- phpunit "$@"
fi
exec "$@"
"""
"""phpunit has no option against settings that end a run at its first failure.

It may be one of the system's, which does not load what Composer generated, as the one that Composer brings does.
"""
_AWAIT = """"$@"; status=$?
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q "</testsuites>" "{results}/report.xml" && break; sleep 0.2; done
exit $status"""
"""bats ends before the process that writes its report does."""
_REQUIRE = (
    "files, given = ARGV.partition { |each| each.end_with?('.rb') }; ARGV.replace(given); "
    "require 'minitest/autorun'; files.each { |each| require File.expand_path(each) }"
)
_UNMEASURED = """class Unmeasured < Module
  def method_missing(*) = self
  def respond_to_missing?(*) = true
  def const_missing(_) = self
end
Object.prepend(Module.new do
  def require(name)
    super
  rescue LoadError => error
    raise unless error.path == name && name.start_with?("simplecov", "coveralls", "codecov")
    %i[SimpleCov Coveralls Codecov].each { |it| Object.const_defined?(it) || Object.const_set(it, Unmeasured.new) }
  end
end)
"""
"""Does nothing in the place of what measures coverage and is not installed."""
_UNMEASURABLE = re.compile(rb"cannot load such file -- (?:simplecov|coveralls|codecov)")
_LOAD_RSPEC = "load Gem.bin_path('rspec-core', 'rspec')"


def drop_measuring_of_ruby(words: Sequence[str], printed: bytes) -> tuple[str, ...]:
    """The words of a command that measures no coverage, if it failed because what does is not installed; else none."""
    if not _UNMEASURABLE.search(printed) or _UNMEASURED in words:
        return ()
    if words[0] == "rspec":
        return ("ruby", "-e", _UNMEASURED, "-e", _LOAD_RSPEC, "--", *words[1:])
    at = words.index("-e") if "-e" in words and words[0] == "ruby" else None
    return () if at is None else (*words[:at], "-e", _UNMEASURED, *words[at:])


def _bundle(facts: RepositoryFacts) -> tuple[str, ...]:
    return ("bundle", "exec") if "Gemfile.lock" in facts.paths else ()


def find_rspec(facts: RepositoryFacts) -> Runner | None:
    """rspec, by Bundler where the repository locks its gems."""
    if not facts.find(_RSPEC_TESTS):
        return None

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        return (*files, *(word for name in names for word in ("-e", strip_path(name))))

    return Runner(
        Framework.rspec,
        "because there are specs",
        _RSPEC_TESTS,
        (*_bundle(facts), "rspec", *_DOCUMENTED, "--format", "json", "--out", "{results}/rspec.json"),
        ReportPlace(format="rspec", file="rspec.json"),
        select=select,
        shown=" ".join((*_bundle(facts), "rspec")),
    )


def find_minitest(facts: RepositoryFacts) -> Runner | None:
    """minitest or test-unit, which says on its output how each test ended."""
    tests = facts.find(_MINITEST_TESTS)
    if not tests:
        return None
    start = (*_bundle(facts), "ruby", "-Ilib", "-Itest")

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        parts = [strip_path(name).rpartition("::") for name in names]
        tests = [f"({re.escape(group)}#)?{re.escape(test)}" for group, _, test in parts]  # test-unit names no group
        return (*files, "-v", *(("-n", f"/^({'|'.join(tests)})$/") if tests else ()))

    return Runner(
        Framework.minitest,
        "because there are Ruby tests",
        _MINITEST_TESTS,
        (*start, "-e", _REQUIRE, "--"),
        ReportPlace(format="minitest", file=""),
        everything=(*(_keep_named(tests, facts) or tests), "-v"),
        select=select,
        shown=" ".join(("ruby -Ilib -Itest",)),
    )


def _keep_named(tests: Sequence[str], facts: RepositoryFacts) -> list[str]:
    """The files of tests that a pattern in the Rakefile names."""
    patterns = _PATTERN.findall(facts.text("Rakefile"))
    return [path for path in tests if matches(path, patterns)]


def find_phpunit(facts: RepositoryFacts) -> Runner | None:
    """phpunit; because it takes one place only, several files are chosen by their classes below their common folder."""
    if not facts.find(_PHPUNIT_TESTS):
        return None
    is_needed = "phpunit/phpunit" in facts.text("composer.json")

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        place = files[0] if len(files) == 1 else os.path.commonpath([f"./{file}" for file in files])
        classes = "|".join(sorted({PurePosixPath(file).stem for file in files}))
        chosen = "|".join(sorted({_match_any(strip_path(name)) for name in names}))
        if names:
            return ("--filter", f"/^({chosen})$/", place)
        return (place,) if len(files) == 1 else ("--filter", rf"/\b({classes})::/", place)

    program = "vendor/bin/phpunit" if is_needed else "phpunit"
    return Runner(
        Framework.phpunit,
        "because there are tests of phpunit",
        _PHPUNIT_TESTS,
        (program, "--log-junit", "{results}/junit.xml"),
        everything=() if facts.find(re.compile(r"^phpunit(\.dist)?\.xml(\.dist)?$")) else ("tests",),
        select=select,
        before=("sh", "-c", _UNSTOPPED, "sh"),
        shown=program,
    )


def _match_any(name: str) -> str:
    """Whichever mark stands between the namespaces; the report has points where the filter sees backslashes."""
    return re.sub(r"[\\^$*+?()\[\]{}|/]", r"\\\g<0>", name)


def find_bats(facts: RepositoryFacts) -> Runner | None:
    """bats with its report in the form of JUnit."""
    tests = facts.find(_BATS_TESTS)
    if not tests:
        return None

    def select(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        tests = [re.sub(r"([\\^$.*+?()\[\]{}|])", r"\\\1", strip_path(name)) for name in names]
        return (*(("-f", f"^({'|'.join(tests)})$") if tests else ()), *files)

    return Runner(
        Framework.bats,
        "because there are tests of bats",
        _BATS_TESTS,
        ("bats", "--report-formatter", "junit", "--output", "{results}"),
        ReportPlace(format="junit", file="report.xml"),
        everything=tuple(tests),
        select=select,
        before=("sh", "-c", _AWAIT, "sh"),
        shown="bats",
    )
