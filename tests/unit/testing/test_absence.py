"""What says that a command could not run, from what the programs print, and what does not."""

import pytest

from agents.testing.absence import WAY_OUT, find_absence, find_lack
from agents.testing.failures import ShownFailures, classify_failures, list_failures
from domain.runs.testing import CaseOutcome, CommandResult, FailureClass
from tests.unit.testing.forging import case, command, run

NPX = """npm error code EAI_AGAIN
npm error syscall getaddrinfo
npm error request to https://registry.example/{} failed, reason: getaddrinfo EAI_AGAIN registry.example
npm error A complete log of this run can be found in: /workspace/home/.npm/_logs/debug-0.log
"""
CACHED = (
    "npm error code ENOTCACHED\nnpm error request to https://registry.example/vitest failed: cache mode is "
    "'only-if-cached' but no cached response is available.\n"
)
CANCELED = 'npm error npx canceled due to missing packages and no YES option: ["vitest@3.1.0"]\n'
PNPM = '\u2009ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\u2009 Command "vitest" not found\n'
PNPM_RUN = "> vitest\n\nsh: 1: vitest: not found\n\u2009ELIFECYCLE\u2009 Test failed.\n"
COREPACK = "Internal Error: Error when performing the request to https://registry.example/pnpm/latest; for help\n"
NODE = """Error: Cannot find module '/w/node_modules/vitest/vitest.mjs'
  code: 'MODULE_NOT_FOUND',
  requireStack: []
"""
MAKE = "vitest\nmake: vitest: No such file or directory\nmake: *** [Makefile:4: t] Error 127\n"
UV = "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)\n"
PIP = """WARNING: Retrying after connection broken by 'NewConnectionError: Failed to establish a new connection'
ERROR: Could not find a version that satisfies the requirement pytest (from versions: none)
"""
CARGO = """    Updating `registry` index
error: failed to get `serde` as a dependency of package `x v0.1.0 (/w)`

Caused by:
  [6] Could not resolve hostname (Could not resolve host: index.example)
"""
GO = (
    'a_test.go:3:8: github.com/google/uuid@v1.3.0: Get "https://proxy.example/github.com/google/uuid/@v/v1.zip": '
    "dial tcp: lookup proxy.example: dial udp: connect: network is unreachable\nFAIL\tx [setup failed]\nFAIL\n"
)
MAVEN = (
    "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-resources-plugin:2.6:resources: Could not transfer "
    "artifact org.apache.maven:maven-project:pom:2.0.6 from/to central (https://repo.example/maven2): Unknown "
    "host repo.example: Temporary failure in name resolution -> [Help 1]\n"
)
GRADLE = """* What went wrong:
Could not determine the dependencies of task ':test'.
> Could not resolve org.junit.jupiter:junit-jupiter:5.10.0.
   > Could not get resource 'https://repo.example/maven2/org/junit/x.pom'.
         > repo.example: Temporary failure in name resolution
"""
WRAPPER = 'Exception in thread "main" java.net.UnknownHostException: services.example\n'
COMPOSER = "curl error 6 while downloading https://repo.example/packages.json: Could not resolve host\n"
UNKNOWN = "unrecognized arguments"
USAGE = "ERROR: usage: __main__.py [options]\n__main__.py: error: unrecognized arguments: {}\n  inifile: None\n"


@pytest.mark.parametrize(
    ("status", "line", "output", "lacks"),
    [
        (1, "npx --no-install vitest run", NPX.format("vitest"), "vitest"),
        (1, "npx --no-install ng test", NPX.format("@angular%2fcli"), "@angular/cli"),
        (2, "make test", f"npx vitest\n{NPX.format('vitest')}make: *** [Makefile:2: test] Error 1\n", "vitest"),
        (1, "npx vitest", CACHED, "vitest"),
        (1, "npx vitest", CANCELED, "vitest"),
        (127, "npm test", "> test\n> vitest run\n\nsh: 1: vitest: not found\n", "vitest"),
        (1, "pnpm test", PNPM_RUN, "vitest"),
        (254, "pnpm exec vitest", PNPM, "vitest"),
        (1, "pnpm test", COREPACK, "pnpm"),
        (1, "yarn vitest", 'error Command "vitest" not found.\n', "vitest"),
        (1, "node node_modules/vitest/vitest.mjs", NODE, "vitest"),
        (2, "make t", MAKE, "vitest"),
        (1, "python3 -m pytest -o x=y", "/usr/bin/python3: No module named pytest\n", "pytest"),
        (1, "pytest", "No module named 'pytest'", "pytest"),
        (2, "uv run pytest", UV, "pytest"),
        (1, "poetry run pytest", "Command not found: pytest\n", "pytest"),
        (1, "pip install -r requirements.txt", PIP, "pytest"),
        (101, "cargo test", CARGO, "serde"),
        (101, "cargo nextest run", "error: no such command: `nextest`\n", "nextest"),
        (1, "go test -v ./...", GO, "github.com/google/uuid"),
        (1, "mvn test", MAVEN, ""),
        (1, "gradle test", GRADLE, ""),
        (1, "./gradlew test", WRAPPER, ""),
        (7, "bundle exec rspec", "Could not find rspec-3.13.0 in locally installed gems\n", "rspec"),
        (127, "bundle exec rspec", "bundler: command not found: rspec\n", "rspec"),
        (1, "php vendor/bin/phpunit", "Could not open input file: vendor/bin/phpunit\n", "phpunit"),
        (100, "composer install", COMPOSER, ""),
        (127, "env A=1 vendor/bin/phpunit --log-junit /r/junit.xml", "", "phpunit"),
        (127, "vitest run", "sh: 1: exec: vitest: not found\n", "vitest"),
        (127, "vitest run", "vitest was not started: No such file or directory\n", "vitest"),
        (127, "'npm test'", "sh: 1: exec: npm test: not found\n", "npm test"),
        (4, "python3 -m pytest", USAGE.format("--cov=shop --cov-report=term"), "pytest-cov"),
        (4, "python3 -m pytest", USAGE.format("--dist=load"), "pytest-xdist"),
        (4, "python3 -m pytest", f"python -m pytest: error: {UNKNOWN}: --cov=shop --cov-report=xml\n", "pytest-cov"),
        (4, "python3 -m pytest", USAGE.format("--snap"), "the plug-in of pytest that knows --snap"),
        (126, "bats tests", "", "bats"),
    ],
)
def test_what_could_not_run_is_named(status: int, line: str, output: str, lacks: str) -> None:
    absence = find_absence(command(status, line=line, output=output))
    assert absence is not None
    assert absence.name == lacks
    program = line.split()[0].removeprefix("./")
    need = "" if lacks in line else f", and `{line}` needs it"
    sentence = f"`{lacks}` is not installed here{need}." if lacks else f"`{program}` wants to download something"
    assert str(absence).startswith(sentence)


@pytest.mark.parametrize(
    "result",
    [
        command(0, output=NPX.format("vitest")),
        command(None, output=NPX.format("vitest")),
        command(1, case("a", CaseOutcome.passed), output=NPX.format("vitest")),
        command(127, case("a", CaseOutcome.failed)),
        command(1),
        command(1, output="E  No module named 'shop'\n1 failed"),
        command(1, output="/usr/bin/python3: No module named shop\n1 failed"),
        command(1, output="npm error code ELIFECYCLE\nnpm error command sh -c vitest run\n"),
        command(1, output="E   socket.gaierror: [Errno -3] Temporary failure in name resolution\n"),
        command(1, output="Error: Cannot find module '../src/cart'\n requireStack: [ '/w/test/cart.js' ]\n"),
        command(101, output="error[E0432]: unresolved import `serde`\nerror: could not compile `x`\n"),
        command(1, output="x.go:3:8: no required module provides package github.com/google/uuid; to add it:\n"),
        command(1, output="[ERROR] Failed to execute goal: There are test failures.\n"),
        command(2, output="make: *** [Makefile:2: test] Error 1\n"),
    ],
)
def test_what_ran_and_failed_is_no_absence(result: CommandResult) -> None:
    assert find_absence(result) is None


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ("ModuleNotFoundError: No module named 'a.b'", "`a.b`"),
        ("Error: Cannot find module '@babel/register'", "`@babel/register`"),
        ("Error: Cannot find module '../src/cart'", ""),
        ("a_test.rb:1:in `require': cannot load such file -- /w/lib/a (LoadError)", ""),
        ("`require': cannot load such file -- shoulda/context (LoadError)", "`shoulda/context`"),
        ('cgo: C compiler "gcc" not found: exec: "gcc": executable file not found in $PATH', "`gcc`"),
        ("error: linker `cc` not found", "`cc`"),
        ("a.go:3:8: no required module provides package github.com/a/b; to add it:", "`github.com/a/b`"),
        ('Error: Class "Twig\\Loader" not found', "`Twig\\Loader`"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "a network or a server"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a.json'", ""),
        ("E   assert 1 == 2", ""),
    ],
)
def test_what_a_place_lacks(output: str, what: str) -> None:
    assert find_lack(output) == (f"{what} is missing where Forge runs tests" if what else "")


def test_nothing_is_said_of_a_failure_where_no_test_ran() -> None:
    tested = run(command(1, line="python3 -m pytest", output="/usr/bin/python3: No module named pytest\n"))
    assert list_failures(tested) == ShownFailures.of(tested).shown == ()


def test_a_configured_check_that_is_not_installed_accuses_nobody() -> None:
    tested = run(command(1, kind="lint", line="npm run lint", output=NPX.format("eslint")))
    [analysis] = classify_failures(tested, ())
    assert analysis.failure_class is FailureClass.environment
    assert analysis.root_cause.endswith("`eslint` is not installed here, and `npm run lint` needs it.")


def test_who_can_mend_it_is_said_in_words_of_the_author() -> None:
    assert "commands.setup" in WAY_OUT
    assert "FORGE_" not in WAY_OUT
