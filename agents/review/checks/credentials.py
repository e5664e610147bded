"""Layer 2 for every text file: credentials in added lines, in passing commits, and in files that nobody reads.

They are found in a warm worker. No message ever quotes one.
"""

import asyncio
from collections.abc import Container, Sequence
from functools import partial

from agents.review.checks.fingerprints import add_fingerprints
from agents.review.checks.inputs import MOST_TAKEN_IN, TOO_MANY, CheckedFile, ToolReport, build_security_finding
from agents.review.checks.secrets import AddedText, SecretHit, scan_all
from agents.review.layers import CheckedChange
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.paths import is_test
from domain.review.findings import Finding, Layer, RawFinding, Severity
from domain.review.reading import CheckName
from domain.text.credential_shapes import SHAPES
from domain.text.redaction import redact_finding
from domain.verbs import Verb, find_role
from safety.containment import CodeOrigin, find_origin
from safety.eligibility import is_included
from safety.risk import PullRequestAuthor
from workspace.objects import Objects
from workspace.transient_commits import TransientFile, list_transient, list_unreviewed

_SPELT = ("NVIDIA key", "xAI key", "age key")  # said with a vowel first


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEIO' or kind in _SPELT else 'a'} {kind}"


NAMES = {shape.rule: _with_article(shape.kind) for shape in reversed(SHAPES) if shape.rule} | {
    "aws-access-key": "an AWS access key id",
    "azure-storage-key": "an Azure storage key",
    "stripe-key": "a live Stripe key",
    "jwt": "a JSON Web Token",
    "npm-token": "an npm token",
    "twilio-key": "a Twilio API key",
    "telegram-token": "a Telegram bot token",
    "google-oauth-secret": "a Google OAuth client secret",
    "private-key": "a private key",
    "basic-auth": "a password inside a URL",
    "keyword": "a hard-coded credential",
}
"""Kind of credential → its common name."""

_Scan = partial[list[tuple[str, SecretHit]]]

MAX_TRANSIENT = 200
_PIECE = 200_000
# Known formats and key material are certain; the others are guesses from a name or a place.
_GUESSED = {"keyword": (Severity.error, 0.65), "basic-auth": (Severity.error, 0.8), "jwt": (Severity.error, 0.8)}
_HELP = "https://docs.github.com/code-security/secret-scanning"


async def check(files: Sequence[CheckedFile], toolbox: Toolbox) -> ToolReport:
    """Scan the added lines of all files."""
    changed = [file for file in files if file.change.added_lines]
    pieces = list(_group_files(changed))
    answers, problem = await toolbox.run_jobs(pieces, _scan, lambda piece: piece[0].path)
    hits = [hit for _, found in answers for hit in found]
    findings = await asyncio.to_thread(_findings, hits[:MOST_TAKEN_IN])
    problems = [*filter(None, [problem]), *([TOO_MANY] if len(hits) > MOST_TAKEN_IN else [])]
    return ToolReport(head=findings, files=len(changed), problem=" ".join(problems) or None)


def _findings(hits: Sequence[tuple[str, SecretHit]]) -> tuple[RawFinding, ...]:
    return tuple(_finding(path, hit.kind, hit.line, hit.mark) for path, hit in hits)


async def check_transient_commits(
    files: Sequence[TransientFile], toolbox: Toolbox, *, known_forms: bool
) -> tuple[tuple[Finding, ...], str | None]:
    """Credentials that a commit added and a later one removed, and what could not be searched.

    :param known_forms: only those of a known form.
    """
    job = partial(_scan_transient, known_forms=known_forms)
    answers, problem = await toolbox.run_jobs(files, job, lambda file: file.path)
    return await asyncio.to_thread(_report_transient, answers, problem)


def _report_transient(
    answers: Sequence[tuple[TransientFile, Sequence[tuple[str, SecretHit]]]], problem: str | None
) -> tuple[tuple[Finding, ...], str | None]:
    findings: list[Finding] = []
    for file, hits in answers:
        findings += add_fingerprints(_findings(hits[:MOST_TAKEN_IN]), {file.path: file.lines})
    if len(findings) <= MAX_TRANSIENT:
        return tuple(findings), problem
    too_many = f"{len(findings):,} credentials were added and removed again; {MAX_TRANSIENT} of them are listed."
    return tuple(findings[:MAX_TRANSIENT]), " ".join([*filter(None, [problem]), too_many])


def _scan_transient(file: TransientFile, *, known_forms: bool) -> _Scan:
    added = [(line, file.lines[line - 1]) for line in file.added]
    headers = _find_key_headers(file.lines, file.added)
    return partial(scan_all, [AddedText(file.path, added, file.known, headers, known_forms)])


def _group_files(files: Sequence[CheckedFile]) -> list[list[CheckedFile]]:
    """Groups files: small ones share a request, and a large one that fails does not affect others."""
    groups: list[list[CheckedFile]] = []
    size = 0
    for file in files:
        length = sum(map(len, file.change.added_lines.values()))
        if not groups or size + length > _PIECE:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += length
    return groups


def _scan(piece: Sequence[CheckedFile]) -> _Scan:
    return partial(scan_all, [_read_added(file) for file in piece])


def _read_added(file: CheckedFile) -> AddedText:
    added = file.change.added_lines
    removed = [text for hunk in file.change.hunks for old, new, text in hunk.number_lines() if old and new is None]
    return AddedText(file.path, list(added.items()), removed, _find_key_headers(file.head_lines, added))


def _find_key_headers(lines: Sequence[str], added: Container[int]) -> list[tuple[int, str]]:
    """Unchanged headers of private keys; the key below may have been replaced."""
    return [(line, text) for line, text in enumerate(lines, 1) if "PRIVATE KEY-----" in text and line not in added]


def _finding(path: str, kind: str, line: int, mark: str) -> RawFinding:
    severity, confidence = _GUESSED.get(kind, (Severity.critical, 0.95))
    name = NAMES[kind]
    if kind == "private-key" and is_test(path):
        said = f"This line holds {name}. If it opens anything but tests, revoke it: it is in the history now."
        return build_security_finding(f"secret/{kind}", Severity.warning, path, line, said, help_url=_HELP, mark=mark)
    message = (
        f"This looks like {name}. If it is real, revoke it and read it from the environment; "
        f"if not, a person with {find_role(Verb.dismiss)} access other than the author can dismiss this."
        if kind in _GUESSED
        else f"This line holds {name}. It is in the history now, so revoke it and read a new one from the environment."
    )
    return build_security_finding(
        f"secret/{kind}", severity, path, line, message, confidence=confidence, help_url=_HELP, mark=mark
    )


async def add_transient_commits(
    checked: CheckedChange, code: Objects, toolbox: Toolbox, configuration: Configuration, author: PullRequestAuthor
) -> CheckedChange:
    """The result, with the credentials that a commit added and a later one removed.

    And with those of :func:`add_unreviewed`.

    :raises CodeAccessError: if the commits cannot be read.
    """
    origin = find_origin(author.from_fork)
    files, is_all = await list_transient(code, checked.merge_base, checked.head_sha)
    kept = [file for file in files if is_included(file.path, configuration.review.paths)]
    found, problem = await search_commits(kept, toolbox, origin)
    missing = [] if is_all else ["Not all commits were searched for credentials that a later one took away."]
    noted = _note(checked.model_copy(update={"in_passing": found}), [*filter(None, [problem]), *missing])
    return await add_unreviewed(noted, code, toolbox, author)


async def add_unreviewed(
    checked: CheckedChange, code: Objects, toolbox: Toolbox, author: PullRequestAuthor
) -> CheckedChange:
    """The result, with the credentials of a known form in files that are not reviewed because they are generated,
    vendored or the like.

    :raises CodeAccessError: if the files cannot be read.
    """
    unread, are_all = await list_unreviewed(code, checked.merge_base, checked.head_sha, checked.touched)
    found, problem = await search_commits(unread, toolbox, find_origin(author.from_fork), known_forms=True)
    missing = "Not all unreviewed files were searched for credentials: they are too many or too large."
    noted = _note(checked, [*filter(None, [problem]), *([] if are_all else [missing])])
    findings = tuple(sorted((*noted.findings, *map(redact_finding, found)), key=lambda finding: finding.sort_key))
    return noted.model_copy(update={"findings": findings})


def _note(checked: CheckedChange, notes: Sequence[str]) -> CheckedChange:
    """The result, with what its security checks could not do."""
    layers = [
        layer.model_copy(update={"note": " ".join(dict.fromkeys([*filter(None, [layer.note]), *notes])) or None})
        if layer.layer is Layer.security
        else layer
        for layer in checked.layers
    ]
    return checked.model_copy(update={"layers": tuple(layers)})


async def search_commits(
    files: Sequence[TransientFile], toolbox: Toolbox, origin: CodeOrigin, *, known_forms: bool = False
) -> tuple[tuple[Finding, ...], str | None]:
    """Credentials that one commit of a pull request added and a later one removed, and what could not be searched.

    :param known_forms: only those of a known form, not what is named like a credential.
    If the worker may not look at this code, :func:`run_checks` reports that.
    """
    if toolbox.for_worker(CheckName.secrets, origin=origin).level is None:
        return (), None
    return await check_transient_commits(files, toolbox, known_forms=known_forms)
