"""`go test`, cargo, Maven, Gradle and dotnet: runners that build first and name tests by package or class."""

import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from agents.testing.runners.runner import JOINED, ReportPlace, RepositoryFacts, Runner, strip_path
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
