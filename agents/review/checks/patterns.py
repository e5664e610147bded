"""Our own table of insecure patterns in Dockerfiles, shell scripts and Pipfiles.

Lines are matched as the shell sees them: continuation lines joined, comments left out.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from agents.review.checks.rule_texts import Danger

Kind = Literal["docker", "shell", "pipfile"]
_LONGEST_LINE = 4000


@dataclass(frozen=True)
class PatternHit:
    """A match: rule id and 1-based line."""

    rule: str
    line: int


@dataclass(frozen=True)
class LogicalLine:
    """One line as the shell or Docker reads it, and the number of its first physical line."""

    line: int
    text: str
    starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """The physical line of a position in ``text``."""
        return self.line + sum(start <= offset for start in self.starts[1:])


Predicate = Callable[[Sequence[LogicalLine]], Iterator[tuple[LogicalLine, int]]]


@dataclass(frozen=True)
class CodePattern:
    """One entry of the table.

    :param rule: full rule id.
    :param kinds: the files it is looked for in; shell patterns also apply to ``RUN`` in a Dockerfile.
    :param message: what is wrong, why it matters, and what to do.
    :param find: from the logical lines of a file to matches as (logical line, offset).
    """

    rule: str
    kinds: tuple[Kind, ...]
    danger: Danger
    message: str
    help_url: str
    find: Predicate


def _regex(expression: str, *, unless: str | None = None, where: str = "", run: bool = False) -> Predicate:
    """Where an expression matches.

    :param unless: what a match must not have in it; ``where``: what it must.
    :param run: whether text that a script only prints is left out.
    """
    compiled, condition = re.compile(expression), re.compile(where)
    exception = re.compile(unless) if unless else None

    def find(lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, int]]:
        for logical in lines:
            if _only_prints(logical.text):
                continue
            for match in compiled.finditer(logical.text):
                is_said = run and _SAYS.search(logical.text[: match.start()]) is not None
                is_excepted = is_said or (exception is not None and exception.search(match.group()) is not None)
                if not is_excepted and condition.search(match.group()):
                    yield logical, match.start()

    return find


_SAYS = re.compile(r"\b(?:echo|printf)\s[^|;&\"]*\"[^\"]*$")


def _only_prints(text: str) -> bool:
    unquoted = re.sub(r"\"[^\"]*\"|'[^']*'", "", text)
    return re.match(r"\s*(echo|printf)\b[^|;&>`(]*$", unquoted) is not None


def _empty_variable_removed(lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, int]]:
    """``rm -rf "$X"/`` where the script does not stop at an unset variable."""
    if any(re.match(r"\s*set\s+-\w*u|\s*set\s+(-\S+\s+)*-?o\s+nounset|#!.*\s-\w*u", logical.text) for logical in lines):
        return
    removal = re.compile(
        r"""\brm\s+(?:-\S+\s+)*-\w*[rR]\w*(?=\s)[^;&|]*?\s["']?\$(?:\w+|\{\w+\})["']?/(?:["']?\*?["']?)(?=\s|$|[;&|])"""
    )
    for logical in lines:
        for match in removal.finditer(logical.text):
            yield logical, match.start()


_EVALUATED = re.compile(
    r"(?:^|[;&|(]\s*|\b(?:then|do|else)\s+)\s*eval\s+[\"']?(?:[\w./-]+\s+)*\$(?:(?P<name>\w+)|[@*]|\{(?!\w+@Q\}))"
)


_TAKES_IN = re.compile(r"\b(?:read|for|getopts|mapfile|readarray|printf)\b([^;|&]*)")


def _find_evaluations(lines: Sequence[LogicalLine], *, is_own: bool) -> Iterator[tuple[LogicalLine, int]]:
    """``eval $X``.

    :param is_own: whether the script gives the variable only texts in which nothing is put in.
    """
    given: dict[str, bool] = {}  # name → whether all that it is given are such texts
    for logical in lines:
        for found in re.finditer(r"(?:^|[\s;])(\w+)=('[^']*'(?![^\s;])|[^\s;]*)", logical.text):
            given[found[1]] = given.get(found[1], True) and found[2].startswith("'")
        for taken in _TAKES_IN.findall(logical.text):
            given.update(dict.fromkeys(re.findall(r"\w+", taken), False))
    for logical in lines:
        if not _only_prints(logical.text):
            found = (each for each in _EVALUATED.finditer(logical.text) if given.get(each["name"], False) is is_own)
            yield from ((logical, each.start()) for each in found)


_SECRET_NAME = r"(?:\w*_)?(?:PASSWORD|PASSWD|SECRET|SECRET_KEY|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS)"

_NO_SECRET = re.compile(
    r"(?i)|.*(fill_?in|change_?me|change_?this|replace|example|placeholder|dummy|your|secret_?here|insecure|xxx).*|<.*>|\d+|true|false|admin|password|root|test|secret|postgres|dev|user\w*"
    r"|\$\{?\w+\}?"
)


def _instruction(name: str, lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, str]]:
    for logical in lines:
        match = re.match(rf"\s*(?:ONBUILD\s+)?{name}\s+(.*)", logical.text, re.IGNORECASE | re.DOTALL)
        if match:
            yield logical, match.group(1).strip()


def _secret_in_image(lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, int]]:
    for logical, rest in _instruction("ENV", lines):
        pairs = re.findall(r"(\w+)=(\"[^\"]*\"|'[^']*'|\S*)", rest) or re.findall(r"^(\w+)\s+(.+)$", rest)
        for name, value in pairs:
            if re.fullmatch(_SECRET_NAME, name, re.IGNORECASE) and not _NO_SECRET.fullmatch(value.strip("\"' ")):
                yield logical, max(logical.text.find(name), 0)
    for logical, rest in _instruction("ARG", lines):
        if re.match(rf"{_SECRET_NAME}\s*(=.*)?$", rest, re.IGNORECASE | re.DOTALL):
            yield logical, 0


def _image_without_version(lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, int]]:
    stages = {"scratch"}
    for logical, rest in _instruction("FROM", lines):
        words = [word for word in rest.split() if not word.startswith("--")]
        if not words:
            continue
        image = words[0]
        tag = image.rsplit("/", 1)[-1].partition(":")[2]
        if "$" not in image and "@" not in image and image.lower() not in stages and tag in ("", "latest"):
            yield logical, 0
        if len(words) >= 3 and words[1].lower() == "as":
            stages.add(words[2].lower())


def _root_at_the_end(lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, int]]:
    """Only an explicit switch back to root: without ``USER`` the base image decides, which we cannot see."""
    last: tuple[LogicalLine, str] | None = None
    for logical in lines:
        if re.match(r"\s*FROM\s", logical.text, re.IGNORECASE):
            last = None
        last = next(_instruction("USER", [logical]), last)
    if last is not None and re.match(r"(root|0)(:|\s|$)", last[1]):
        yield last[0], 0


def _remote_add(lines: Sequence[LogicalLine]) -> Iterator[tuple[LogicalLine, int]]:
    for logical, rest in _instruction("ADD", lines):
        if re.search(r"(?:^|\s|\")https?://", rest) and "--checksum" not in rest and ".git" not in rest:
            yield logical, 0


_DOCKER = "https://docs.docker.com/build/building/best-practices/"
_SHELLCHECK = "https://www.shellcheck.net/wiki/"
_EVAL = (
    "eval runs {} as code; if any of it comes from outside, so does the code. "
    "Call the command directly, with an array for its arguments."
)
_ALL: tuple[Kind, ...] = ("docker", "shell")

_PIPELINES = "https://owasp.org/www-project-top-10-ci-cd-security-risks/"
_PIPED = (
    r"\b(?:curl|wget)\b[^|;&\n]*\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:/\S*/)?(?:ba|da|z|k)?sh\b"
    r"|\b(?:curl|wget)\b[^|;&\n]*\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:python[\d.]*|perl|ruby|node)(?:\s+-)?\s*$"
    r"|(?:\b(?:ba|z)?sh\s+|\bsource\s+|(?<![\w.])\.\s+)<\(\s*(?:curl|wget)\b[^)]*"
    r"|\b(?:ba|z)?sh\s+-c\s+[\"']?\$\(\s*(?:curl|wget)\b[^)]*"
)
_NAMED_HOST = r"https://[\w.-]+"

TABLE: tuple[CodePattern, ...] = (
    CodePattern(
        "shell/curl-pipe",
        _ALL,
        Danger.remote_script,
        "This runs a script straight from the network: whoever controls that server runs code here. Download it, check "
        "its checksum or signature, then run it.",
        _PIPELINES,
        _regex(_PIPED, where=_NAMED_HOST, run=True),
    ),
    CodePattern(
        "shell/open-curl-pipe",
        _ALL,
        Danger.open_script,
        "This runs a script straight from the network, from an address that is not fixed or not encrypted: whoever can "
        "change either runs code here. Name an address with https://, download, check its checksum, then run it.",
        _PIPELINES,
        _regex(_PIPED, unless=rf"{_NAMED_HOST}|//(localhost|127\.0\.0\.1|\[::1\])[:/\s\"']", run=True),
    ),
    CodePattern(
        "shell/insecure-tls",
        _ALL,
        Danger.unchecked_tls,
        "This switches off the check of the server's certificate, so anybody on the network can replace the "
        "download. Remove the option; if the server has its own authority, pass its certificate with --cacert.",
        "https://curl.se/docs/sslcerts.html",
        _regex(
            r"\bcurl\b[^|;&\n]*\s(?:-[a-zA-Z]*k[a-zA-Z]*|--insecure)(?=\s|$)[^|;&\n]*"
            r"|\bwget\b[^|;&\n]*\s--no-check-certificate\b[^|;&\n]*"
            r"|http\.sslVerify[= ]+[\"']?(?:false|0)\b|\bGIT_SSL_NO_VERIFY=(?:1|true)"
            r"|\bnpm\s+config\s+set\s+strict-ssl\s+false|\bpip3?\b[^|;&\n]*\s--trusted-host\b"
            r"|\bNODE_TLS_REJECT_UNAUTHORIZED=[\"']?0",
            unless=r"//(localhost|127\.0\.0\.1|\[::1\])[:/\s\"']",
        ),
    ),
    CodePattern(
        "pipfile/insecure-tls",
        ("pipfile",),
        Danger.unchecked_tls,
        "This switches off the check of the index's certificate, so anybody on the network can replace a package. "
        "Remove the option; if the index has its own authority, let PIP_CERT name its certificate.",
        "https://pipenv.pypa.io/en/latest/indexes.html",
        _regex(r"^\s*[\"']?verify_ssl[\"']?\s*=\s*false\b"),
    ),
    CodePattern(
        "shell/world-writable",
        _ALL,
        Danger.lax_permission,
        "Mode 777 lets every account and process change these files. "
        "Give the one account that needs it ownership (chown) and use 755 or 644, or less.",
        _SHELLCHECK + "SC2174",
        _regex(r"\bchmod\s+(?:-\S+\s+)*(?:0?777|a\+rwx|ugo\+rwx|a=rwx)(?=\s|$)"),
    ),
    CodePattern(
        "shell/eval-input",
        _ALL,
        Danger.unseen_code,
        _EVAL.format("whatever the variable holds"),
        _SHELLCHECK + "SC2294",
        partial(_find_evaluations, is_own=False),
    ),
    CodePattern(
        "shell/eval-text",
        _ALL,
        Danger.own_code,
        _EVAL.format("the text of a variable"),
        _SHELLCHECK + "SC2294",
        partial(_find_evaluations, is_own=True),
    ),
    CodePattern(
        "shell/rm-empty-variable",
        _ALL,
        Danger.lost_files,
        "If this variable is unset or empty, the command deletes files in the root folder. "
        'Write "${NAME:?}" so that the shell stops instead.',
        _SHELLCHECK + "SC2115",
        _empty_variable_removed,
    ),
    CodePattern(
        "shell/apt-unauthenticated",
        _ALL,
        Danger.unverified_package,
        "This installs packages without checking who signed them. Import the repository's signing key "
        "and use signed-by instead.",
        "https://wiki.debian.org/DebianRepository/UseThirdParty",
        _regex(
            r"\bapt(?:-get|itude)?\b[^|;&\n]*\s(?:--allow-unauthenticated|--force-yes|--allow-insecure-repositories)\b"
            r"|\bdeb\s+\[[^\]]*trusted=yes[^\]]*\]\s+(?!file:)|\b(?:yum|dnf)\b[^|;&\n]*\s--nogpgcheck\b|\bapk\b[^|;&\n]*\s--allow-untrusted\b"
        ),
    ),
    CodePattern(
        "docker/secret-in-image",
        ("docker",),
        Danger.exposed_secret,
        "ENV and ARG values stay readable in the image and its history for everyone who can pull it. "
        "Pass the secret at run time, or to one RUN with --mount=type=secret.",
        "https://docs.docker.com/build/building/secrets/",
        _secret_in_image,
    ),
    CodePattern(
        "docker/latest-tag",
        ("docker",),
        Danger.unverified_package,
        "Without a fixed tag the next build may get another image, with other bugs. Name a version, or "
        "better a digest.",
        _DOCKER + "#pin-base-image-versions",
        _image_without_version,
    ),
    CodePattern(
        "docker/root-user",
        ("docker",),
        Danger.lax_permission,
        "The image switches back to root and stays there, so whoever takes over the program is root in its container. "
        "End with USER and an unprivileged account.",
        _DOCKER + "#user",
        _root_at_the_end,
    ),
    CodePattern(
        "docker/add-url",
        ("docker",),
        Danger.unverified_package,
        "ADD takes whatever the server answers at build time, unchecked. Add --checksum=sha256:…, or "
        "download and verify it in a RUN.",
        _DOCKER + "#add-or-copy",
        _remote_add,
    ),
    CodePattern(
        "docker/sudo",
        ("docker",),
        Danger.unchecked,
        "sudo has no use in a build and behaves differently without a terminal. Switch with USER root and back.",
        _DOCKER + "#user",
        _regex(r"^\s*RUN\s+(?:--\S+\s+)*(?:.*(?:&&|;|\|)\s*)?sudo\s"),
    ),
)
BY_RULE = {pattern.rule: pattern for pattern in TABLE}


def detect_kind(path: str, head: bytes) -> Kind | None:
    """The kind of a file, by its name or its first line; None if the table has no patterns for it."""
    name = path.rsplit("/", 1)[-1].lower()
    if re.fullmatch(r"(dockerfile|containerfile)(\..+)?|.+\.(dockerfile|containerfile)", name):
        return "docker"
    if name.endswith((".sh", ".bash", ".zsh", ".ksh")) or re.match(rb"#!\s*\S*/(?:env\s+)?(?:ba|da|z|k)?sh\b", head):
        return "shell"
    return "pipfile" if name == "pipfile" else None


def scan(kind: Kind, text: str) -> list[PatternHit]:
    """All matches in one file, from the top, at most one of each rule per line."""
    lines = list(_join_continuations(text))
    hits = {
        PatternHit(pattern.rule, logical.line_at(offset)): None
        for pattern in TABLE
        if kind in pattern.kinds
        for logical, offset in pattern.find(lines)
    }
    return sorted(hits, key=lambda hit: (hit.line, hit.rule))


def scan_both(kind: Kind, head: str, base: str | None) -> tuple[list[PatternHit], list[PatternHit]]:
    """All matches in a file at head and, if there are any and it was there, at the merge base."""
    found = scan(kind, head)
    return found, scan(kind, base) if found and base is not None else []


def _join_continuations(text: str) -> Iterator[LogicalLine]:
    number, parts, starts = 0, "", [0]
    first = 1
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        if len(line) > _LONGEST_LINE or (line.lstrip().startswith("#") and not line.startswith("#!")):
            line = ""  # a comment line does not end a continuation
            if parts:
                starts.append(len(parts))
                continue
        if not parts:
            first, starts = number, [0]
        else:
            starts.append(len(parts))
        if line.endswith("\\") and len(parts) < _LONGEST_LINE:
            parts += line[:-1] + " "
            continue
        yield LogicalLine(first, parts + line, tuple(starts))
        parts = ""
    if parts:
        yield LogicalLine(first, parts, tuple(starts))
