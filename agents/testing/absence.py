"""Recognises a command that could not run, because its program is not installed or wants a network that is not there.

Its failure says nothing about the code. What is printed comes from untrusted code, so it may turn a failure into a
question to people, and never into a success.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from domain.runs.testing import CaseOutcome, CommandResult
from domain.text.escaping import cut_words


@dataclass(frozen=True)
class Absence:
    """What a command lacks.

    :param name: of the program or package; empty where only the network is known to be missing.
    :param line: the command.
    """

    name: str
    line: str

    def __str__(self) -> str:
        """One sentence for people."""
        if self.name:
            need = "" if self.name in self.line else f", and `{cut_words(self.line, 100)}` needs it"
            return f"`{self.name}` is not installed here{need}."
        return f"`{_find_program(self.line)}` wants to download something, and there is no network here."


WAY_OUT = (
    "The repository can install it with `commands.setup` and `commands.network: true`, where the operator of Forge "
    "lets the sandbox reach a registry; else ask the operator to install it."
)
"""Who can mend an absence, and how; one sentence for people."""


def _build_sign(words: str, cause: str = "") -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a command prints that could not run.

    :param words: with a group ``name`` where they name what is missing.
    :param cause: what it must print as well, on any line.
    """
    return re.compile(words, re.MULTILINE), re.compile(cause, re.MULTILINE)


_NO_HOST = (
    r"[Cc]ould not resolve host|Temporary failure in name resolution|Name or service not known"
    r"|[Nn]etwork is unreachable|Unknown host|UnknownHostException|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|no such host"
    r"|dns error|[Cc]onnection refused|unable to resolve host|Failed to establish a new connection|curl error (6|7)\b"
)
_LACKED = re.compile(
    r"(?:No module named |Cannot find (?:module|package) |cannot load such file -- |can't find crate for |linker (?=`)"
    r"|provides package |cannot find package |(?:exec: |C compiler |Class )(?=\"))[\"'`]?(?P<name>[\w@][\w@./+\\-]*)"
)
_PACKAGE = r"(?P<name>(@[\w.-]+(/|%2[fF]))?[\w.-]+)"
_SIGNS = (
    # npm and npx, pnpm, yarn, corepack, node
    _build_sign(
        rf"^npm (ERR!|error) request to https?://[^/\s]+/([^\s@]*/)?{_PACKAGE} failed", rf"{_NO_HOST}|ENOTCACHED"
    ),
    _build_sign(rf"^npm (ERR!|error) npx canceled due to missing packages[^\[\n]*\[\"{_PACKAGE}"),
    _build_sign(r"^npm (ERR!|error) code (EAI_AGAIN|ENOTFOUND|ENOTCACHED|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b"),
    _build_sign(r"^npm (ERR!|error) could not determine executable to run"),
    _build_sign(r"\bERR_PNPM_\w*EXEC_FIRST_FAIL\b.*Command \"(?P<name>[\w./@-]+)\" not found"),
    _build_sign(r"\bERR_PNPM_(META_FETCH_FAIL|FETCH|NO_OFFLINE_META|NO_OFFLINE_TARBALL)\w*\b"),
    _build_sign(r"^error Command \"(?P<name>[\w./@-]+)\" not found\.?$"),
    _build_sign(r"^error An unexpected error occurred: \"https?://", _NO_HOST),
    _build_sign(r"^(➤ )?YN0001\b.*RequestError", _NO_HOST),
    _build_sign(r"^Usage Error: The project in \S+ doesn't seem to have been installed"),
    _build_sign(r"^(Internal )?Error: Error when performing the request to https?://\S+/(?P<name>pnpm|yarn|npm)\b"),
    _build_sign(rf"^Error: Cannot find module '[^'\n]*\bnode_modules/{_PACKAGE}/", r"requireStack: \[\]"),
    # Python
    _build_sign(r"\A\s*(\S{0,500}python[\d.]{0,9}: )?No module named '?(?P<name>[\w.]{1,200})'?\s*\Z"),
    _build_sign(r"^error: Failed to spawn: `(?P<name>[^`\n]+)`", r"No such file or directory"),
    _build_sign(r"^Command not found: (?P<name>\S+)$"),
    _build_sign(r"^ERROR: Could not find a version that satisfies the requirement (?P<name>[\w.-]+)", _NO_HOST),
    _build_sign(r"^(error: |\s+(×|╰─▶|Caused by:) )?(Request failed|Failed to fetch)\b.*https?://", _NO_HOST),
    # Go
    _build_sign(r"^(go: |\S+\.go:\d+:\d+: )(?P<name>[\w./-]+)@\S+: Get \"https?://", _NO_HOST),
    _build_sign(r"^(go: |\S+\.go:\d+:\d+: ).*\bmodule lookup disabled by GOPROXY=off"),
    _build_sign(r"^go: download (?P<name>go[\d.]+\w*) for \S+: toolchain not available"),
    _build_sign(r"^go: (download(ing)? )?(?P<name>go[\d.]+\w*)\b.*Get \"https?://", _NO_HOST),
    _build_sign(r"^go: .*requires (?P<name>go >= [\d.]+) \(running go", r"GOTOOLCHAIN=local"),
    # Rust
    _build_sign(r"^error: no such command: `(?P<name>[\w-]+)`"),
    _build_sign(r"^error: '(?P<name>[\w.-]+)' is not installed for the (custom )?toolchain"),
    _build_sign(r"^error: toolchain '(?P<name>[^'\n]+)' is not installed"),
    _build_sign(r"^error: (failed to (get|download) `(?P<name>[\w-]+)\b)", _NO_HOST),
    _build_sign(r"^error: (failed to|unable to|could not) (get|download|load|update|fetch|sync)\b", _NO_HOST),
    _build_sign(r"^error: no matching package named `(?P<name>[\w-]+)` found", r"offline mode"),
    # Maven, Gradle and their wrappers
    _build_sign(
        r"^\[(ERROR|FATAL)\] .*(Could not transfer artifact|transfer failed for|Could not resolve dep)", _NO_HOST
    ),
    _build_sign(r"^\[(ERROR|FATAL)\] .*Cannot access .* in offline mode"),
    _build_sign(r"^> (Could not (GET|HEAD|resolve)|Could not download)\b", _NO_HOST),
    _build_sign(r"No cached version of (?P<name>\S+) available for offline mode"),
    _build_sign(r"^Exception in thread \"main\" java\.net\.(UnknownHost|Connect)Exception"),
    _build_sign(r"^Error: Could not find or load main class org\.(gradle|apache\.maven)\.wrapper"),
    # Ruby
    _build_sign(r"^bundler: command not found: (?P<name>\S+)"),
    _build_sign(
        r"^Could not find (gem '|compatible versions)?(?P<name>[\w-]+?)(-\d[\w.-]*)?\b.* in "
        r"(locally installed gems|any of the sources)"
    ),
    _build_sign(r"^Could not (reach|fetch specs from) (host |https?://)"),
    _build_sign(r"cannot load such file -- (?P<name>minitest|rspec|test/unit|bundler)\b[\w/]* \(LoadError\)"),
    # PHP
    _build_sign(r"^Could not open input file: \S*?(?P<name>[\w.-]+)$"),
    _build_sign(r"curl error (6|7) while downloading https?://"),
    # .NET
    _build_sign(r"\berror NU1301\b", _NO_HOST),
    _build_sign(r"^(A compatible (?P<name>\.NET SDK) was not found|No \.NET SDKs were found)"),
    # wrappers and make
    _build_sign(r"^curl: \((6|7)\) "),
    _build_sign(r"^wget: unable to resolve host address"),
    _build_sign(
        r"^make(\[\d+\])?: (?P<name>[^\s:/]+): No such file or directory$", r"^make(\[\d+\])?: \*\*\* .* Error 127$"
    ),
    _build_sign(
        r"^(\S*sh|/bin/sh|bash)(: line \d+|: \d+)?: (?P<name>[\w./-]+): (command )?not found$",
        r"\b(Error 127|ELIFECYCLE)\b",
    ),
)
"""What runners of tests and managers of packages print where they could not run."""

_CANNOT_BE_RUN = frozenset({126, 127})  # of a shell (POSIX, "Exit Status for Commands")
_NOT_FOUND = re.compile(
    r"^(?:\S*sh(?:: line \d+|: \d+)?: (?:exec: )?|bundler: command not found: )"
    r"(?!exec: )(?P<name>[\w./@-][^:\n]{0,99})(?:: |$)",
    re.MULTILINE,
)
_UNKNOWN_OPTION = re.compile(
    r"^(?:(?:\S*python[\d.]* -m )?\S*pytest|py\.test|__main__\.py): error: unrecognized arguments: "
    r"(?P<option>--?[\w-]+)",
    re.MULTILINE,
)
_PLUGINS = {
    "--cov": "pytest-cov",
    "-n": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--timeout": "pytest-timeout",
    "--asyncio-mode": "pytest-asyncio",
    "--ds": "pytest-django",
    "--reruns": "pytest-rerunfailures",
}
"""Options that only a plug-in of pytest knows."""
_PREFIX = frozenset({"env", "npx", "exec", "python", "python3", "bundle", "sh", "bash"})


def find_absence(result: CommandResult) -> Absence | None:
    """What a command lacks that failed without running anything; None if it ran, or nobody can tell."""
    if result.is_successful or result.exit_status is None:
        return None
    if any(case.outcome is not CaseOutcome.error for case in result.cases):
        return None
    output = result.output
    for words, cause in _SIGNS:
        if (found := words.search(output)) and cause.search(output):
            return Absence(unquote(found.groupdict().get("name") or ""), result.line)
    if refused := _UNKNOWN_OPTION.search(output):
        option = refused["option"]
        family = next((name for name in _PLUGINS if option == name or option.startswith(f"{name}-")), None)
        return Absence(_PLUGINS[family] if family else f"the plug-in of pytest that knows {option}", result.line)
    if result.exit_status in _CANNOT_BE_RUN and not result.cases:
        told = _NOT_FOUND.search(output)
        return Absence(told["name"] if told else _find_program(result.line), result.line)
    return None


def find_lack(output: str) -> str:
    """What is missing where tests failed or could not be loaded, as they printed it; empty if nobody can tell."""
    named = _LACKED.search(output)
    what = f"`{named['name']}`" if named else "a network or a server" if re.search(_NO_HOST, output) else ""
    return f"{what} is missing where Forge runs tests" if what else ""


def _find_program(line: str) -> str:
    """The program that a command calls, without its options, and whatever folder it calls it in."""
    words = [word for word in re.sub(r"^cd \S+ && ", "", line).split() if not re.match(r"[A-Za-z_]\w*=", word)] or [
        line
    ]
    own = [word for word in words if not word.startswith("-")]
    rest = [word.rpartition("/")[2] for word in own if word not in _PREFIX]
    return (rest or own or words)[0][:100]
