"""Layer 2 for every text file: credentials in added lines, found in a warm worker. No message ever quotes one."""

import asyncio
from collections.abc import Container, Sequence
from functools import partial
from typing import Any, cast

from pydantic import JsonValue

from agents.review.checks.fingerprints import add_fingerprints
from agents.review.checks.inputs import MOST_TAKEN_IN, TOO_MANY, CheckedFile, ToolReport
from agents.review.checks.worker_pool import WorkerBudget, run_each
from domain.review.findings import Category, Finding, Layer, RawFinding, Severity
from domain.text.credential_shapes import SHAPES
from domain.verbs import Verb, find_role
from workspace.transient_commits import TransientFile

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

MAX_TRANSIENT = 200
_PIECE = 200_000
# Known formats and key material are certain; the others are guesses from a name or a place.
_GUESSED = {"keyword": (Severity.error, 0.65), "basic-auth": (Severity.error, 0.8), "jwt": (Severity.error, 0.8)}
_HELP = "https://docs.github.com/code-security/secret-scanning"


async def check(files: Sequence[CheckedFile], shift: WorkerBudget) -> ToolReport:
    """Scan the added lines of all files."""
    changed = [file for file in files if file.change.added_lines]
    pieces = list(_group_files(changed))
    answers, problem = await run_each(pieces, _request, lambda piece: piece[0].path, "secrets", shift)
    hits = [hit for _, answer in answers for hit in cast(list[dict[str, Any]], answer)]
    findings = await asyncio.to_thread(_findings, hits[:MOST_TAKEN_IN])
    problems = [*filter(None, [problem]), *([TOO_MANY] if len(hits) > MOST_TAKEN_IN else [])]
    return ToolReport(head=findings, files=len(changed), problem=" ".join(problems) or None)


def _findings(hits: Sequence[dict[str, Any]]) -> tuple[RawFinding, ...]:
    return tuple(_finding(hit["path"], hit["kind"], hit["line"], hit["mark"]) for hit in hits)


async def check_transient_commits(
    files: Sequence[TransientFile], shift: WorkerBudget, *, known_forms: bool
) -> tuple[tuple[Finding, ...], str | None]:
    """Credentials that a commit added and a later one removed, and what could not be searched.

    :param known_forms: only those of a known form.
    """
    request = partial(_request_transient, known_forms=known_forms)
    answers, problem = await run_each(files, request, lambda file: file.path, "secrets", shift)
    return await asyncio.to_thread(_report_transient, answers, problem)


def _report_transient(
    answers: Sequence[tuple[TransientFile, JsonValue]], problem: str | None
) -> tuple[tuple[Finding, ...], str | None]:
    findings: list[Finding] = []
    for file, answer in answers:
        found = _findings(cast(list[dict[str, Any]], answer)[:MOST_TAKEN_IN])
        findings += add_fingerprints(found, {file.path: file.lines})
    if len(findings) <= MAX_TRANSIENT:
        return tuple(findings), problem
    too_many = f"{len(findings):,} credentials were added and removed again; {MAX_TRANSIENT} of them are listed."
    return tuple(findings[:MAX_TRANSIENT]), " ".join([*filter(None, [problem]), too_many])


def _request_transient(file: TransientFile, *, known_forms: bool) -> JsonValue:
    added: list[JsonValue] = [[line, file.lines[line - 1]] for line in file.added]
    headers = _find_key_headers(file.lines, file.added)
    known: list[JsonValue] = list(file.known)
    return [{"path": file.path, "added": added, "removed": known, "headers": headers, "known_forms": known_forms}]


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


def _request(piece: Sequence[CheckedFile]) -> JsonValue:
    return [
        {
            "path": file.path,
            "added": [[line, text] for line, text in file.change.added_lines.items()],
            "removed": [
                text for hunk in file.change.hunks for old, new, text in hunk.number_lines() if old and new is None
            ],
            "headers": _find_key_headers(file.head_lines, file.change.added_lines),
            "known_forms": False,
        }
        for file in piece
    ]


def _find_key_headers(lines: Sequence[str], added: Container[int]) -> list[JsonValue]:
    """Unchanged headers of private keys; the key below may have been replaced."""
    return [[line, text] for line, text in enumerate(lines, 1) if "PRIVATE KEY-----" in text and line not in added]


def _finding(path: str, kind: str, line: int, mark: str) -> RawFinding:
    severity, confidence = _GUESSED.get(kind, (Severity.critical, 0.95))
    certain = kind not in _GUESSED
    name = NAMES[kind]
    return RawFinding(
        rule=f"secret/{kind}",
        category=Category.security,
        severity=severity,
        confidence=confidence,
        path=path,
        line=line,
        end_line=line,
        message=(
            f"This line holds {name}. It is in the history now, so revoke it and read a new one from the environment."
            if certain
            else f"This looks like {name}. If it is real, revoke it and read it from the environment; "
            f"if not, a person with {find_role(Verb.dismiss)} access other than the author can dismiss this."
        ),
        layer=Layer.security,
        help_url=_HELP,
        mark=mark,
    )
