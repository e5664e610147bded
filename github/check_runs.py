"""Finds, creates and updates check runs on GitHub within its limits, and reads what those of other Apps say."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.checks import SLUG, Annotation, Button, CheckRun, CheckRunRef, FailingCheck
from domain.github.pull_requests import ReportedCheck
from domain.runs.run import RepositoryRef
from domain.text.escaping import cut_text
from github.client import quote_segment
from github.conversation import GitHubConversation
from github.deployments import GitHubActions
from github.errors import bad_answer
from github.payloads.checks import AnnotatedShown, AnnotationShown, SpokenRun, SpokenStatus

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_DETAILS = re.compile(r"<(/?)details\b[^>]*>", re.IGNORECASE)
_NOTE = "\n\n*Shortened: GitHub shows no more than {limit:,} characters here.*"
_ROOM_FOR_CLOSING = 500  # characters


MAX_ANNOTATIONS = 50  # in one request; further ones are appended by updates
MAX_TEXT = 65_535  # characters, summary and text each
MAX_TITLE = 255
MAX_MESSAGE = 64 * 1024  # bytes
MAX_BUTTONS = 3
MAX_LABEL, MAX_DESCRIPTION, MAX_IDENTIFIER = 20, 40, 20

_Key = tuple[str, int, int, str, str, str]


def require_valid(check: CheckRun) -> None:
    """:raises Unprocessable: GitHub would refuse the check run, or show a wrong state."""
    if (check.status == "completed") != (check.conclusion is not None):
        raise Unprocessable(f"The check run “{check.name}” needs a conclusion exactly when it is completed.")
    if len(check.buttons) > MAX_BUTTONS:
        raise Unprocessable(f"The check run “{check.name}” has more than {MAX_BUTTONS} buttons.")
    for button in check.buttons:
        _require_valid_button(check.name, button)


def creation_body(check: CheckRun, annotations: Sequence[Annotation]) -> JsonValue:
    """Body of ``POST check-runs``."""
    return {**update_body(check, annotations), "head_sha": check.head_sha}


def batches(annotations: Sequence[Annotation]) -> list[Sequence[Annotation]]:
    """The annotations in batches that GitHub accepts; at least one, possibly empty."""
    starts = range(0, max(len(annotations), 1), MAX_ANNOTATIONS)
    return [annotations[start : start + MAX_ANNOTATIONS] for start in starts]


def find_missing(wanted: Sequence[Annotation], shown: Iterable[AnnotationShown]) -> list[Annotation]:
    """The wanted annotations that the check run lacks; equal ones are counted, not merged.

    GitHub appends annotations and removes none, so those of an interrupted request must not be sent again.
    """
    there = Counter(_key_of_shown(one) for one in shown)
    missing: list[Annotation] = []
    for annotation in wanted:
        key = _key(_truncate(annotation))
        if there[key] > 0:
            there[key] -= 1
        else:
            missing.append(annotation)
    return missing


def update_body(check: CheckRun, annotations: Sequence[Annotation]) -> dict[str, JsonValue]:
    """Body of ``PATCH check-runs/{id}``: everything but the head, which GitHub never changes."""
    output: dict[str, JsonValue] = {
        "title": cut_text(check.title, MAX_TITLE),
        "summary": shorten(check.summary, MAX_TEXT),
    }
    if check.text:
        output["text"] = shorten(check.text, MAX_TEXT)
    if annotations:
        output["annotations"] = [_annotation(_truncate(one)) for one in annotations]
    body: dict[str, JsonValue] = {
        "name": check.name,
        "external_id": check.external_id,
        "status": check.status,
        "output": output,
        "actions": [button.model_dump() for button in check.buttons],
    }
    if check.conclusion is not None:
        body["conclusion"] = check.conclusion.value
    return body


def _truncate(one: Annotation) -> Annotation:
    """The annotation as GitHub accepts it: texts within limits, a message, and no line before its start."""
    return one.model_copy(
        update={
            "end_line": max(one.start_line, one.end_line),
            "title": cut_text(one.title, MAX_TITLE),
            "message": shorten_bytes(one.message if one.message.strip() else one.title or "…", MAX_MESSAGE),
        }
    )


def _annotation(one: Annotation) -> JsonValue:
    return {**one.model_dump(exclude={"level"}), "annotation_level": one.level}


def _key(one: Annotation) -> _Key:
    return one.path, one.start_line, one.end_line, one.level, _normalize(one.title), _normalize(one.message)


def _key_of_shown(one: AnnotationShown) -> _Key:
    level, title, message = one.annotation_level or "", _normalize(one.title), _normalize(one.message)
    return one.path, one.start_line, one.end_line, level, title, message


def _normalize(text: str | None) -> str:
    """Text for comparison: GitHub may trim it or change its line ends."""
    return " ".join((text or "").split())


def _require_valid_button(name: str, button: Button) -> None:
    bounds = (
        ("label", button.label, MAX_LABEL),
        ("description", button.description, MAX_DESCRIPTION),
        ("identifier", button.identifier, MAX_IDENTIFIER),
    )
    for part, text, limit in bounds:
        if not 0 < len(text) <= limit:
            raise Unprocessable(f"The {part} of a button of “{name}” must have 1 to {limit} characters: “{text[:60]}”.")


class GitHubCheckRuns(GitHubConversation):
    """Writes check runs as the App."""

    async def find_check_run(self, repository: RepositoryRef, head_sha: str, external_id: str) -> CheckRunRef | None:
        purpose = f"look for a check run on {head_sha[:7]} of {repository.full_name}"
        path, query = f"commits/{quote_segment(head_sha)}/check-runs", {"filter": "all", "app_id": self._client.app_id}
        runs = await self._list(CheckRunRef, repository, path, purpose, query, key="check_runs")
        ours = [one for one in runs if one.external_id == external_id and one.head_sha == head_sha]
        return max(ours, key=lambda one: one.id, default=None)

    async def create_check_run(self, repository: RepositoryRef, check: CheckRun) -> CheckRunRef:
        """Create a check run; annotations beyond the first 50 follow as updates.

        If such an update fails, the check run exists already: find it by its ``external_id`` and update it, which adds
        only what is missing.
        """
        require_valid(check)
        purpose = f"create the check run “{check.name}” on {check.head_sha[:7]} of {repository.full_name}"
        first, *others = batches(check.annotations)
        body = creation_body(check, first)
        ref = await self._write(CheckRunRef, repository, "POST", "check-runs", purpose, body)
        for batch in others:
            ref = await self._show(repository, ref.id, check, batch)
        return ref

    async def update_check_run(self, repository: RepositoryRef, check_id: int, check: CheckRun) -> CheckRunRef:
        """Sends only the annotations the check run does not show yet, so it may be repeated after a crash."""
        require_valid(check)
        missing = check.annotations
        if missing:
            missing = find_missing(missing, await self._annotations(repository, check_id))
        first, *others = batches(missing)
        ref = await self._show(repository, check_id, check, first)
        for batch in others:
            ref = await self._show(repository, check_id, check, batch)
        return ref

    async def _show(
        self, repository: RepositoryRef, check_id: int, check: CheckRun, annotations: Sequence[Annotation]
    ) -> CheckRunRef:
        purpose = f"update the check run “{check.name}” on {check.head_sha[:7]} of {repository.full_name}"
        body = update_body(check, annotations)
        return await self._write(CheckRunRef, repository, "PATCH", f"check-runs/{check_id}", purpose, body)

    async def _annotations(self, repository: RepositoryRef, check_id: int) -> list[AnnotationShown]:
        """The annotations that a check run shows; GitHub's count tells whether the list is complete.

        GitHub may not show a new check run yet; then it has none. If it is gone, the write that follows fails.
        """
        purpose = f"read the annotations of a check run of {repository.full_name}"
        try:
            found = await self._get(AnnotatedShown, repository, f"check-runs/{check_id}", purpose)
        except NotFound:
            return []
        count = found.output.annotations_count
        if count == 0:
            return []
        shown = await self._list(AnnotationShown, repository, f"check-runs/{check_id}/annotations", purpose)
        if len(shown) < count:
            raise bad_answer(purpose, f"{len(shown)} items of {count}")
        return shown


class GitHubCheckResults(GitHubActions):
    """Check runs of every App, and commit statuses."""

    async def check_results(self, repository: RepositoryRef, head_sha: str) -> Sequence[ReportedCheck]:
        """What every App's check runs and every commit status say about a commit, all of it or an error."""
        runs, statuses = await self._list_results(repository, head_sha, "status", "statuses")
        return [ReportedCheck(name=one.name, app_id=one.app_id, conclusion=one.outcome) for one in (*runs, *statuses)]

    async def failures(self, repository: RepositoryRef, head_sha: str) -> Sequence[FailingCheck]:
        """The check runs of other Apps, and the commit statuses, whose newest result is a failure."""
        shown = await self._read_results(repository, head_sha)
        return [failing for one in shown if (failing := one.to_domain()) is not None]

    async def check_outcomes(self, repository: RepositoryRef, head_sha: str) -> Mapping[str, str]:
        """Name → newest conclusion or state, of the check runs of other Apps and commit statuses that have ended."""
        results = await self._read_results(repository, head_sha)
        return {one.name: one.outcome for one in results if not one.is_pending}

    async def awaits_checks(self, repository: RepositoryRef, head_sha: str) -> bool:
        """Whether a check run of another App, or a commit status, has not ended yet."""
        return any(one.is_pending for one in await self._read_results(repository, head_sha))

    async def _read_results(self, repository: RepositoryRef, head_sha: str) -> list[SpokenRun | SpokenStatus]:
        """The newest of each check of other Apps, and of each status."""
        runs, statuses = await self._list_results(repository, head_sha, "statuses")
        newest = {one.name: one for one in reversed(statuses)}  # the last reported comes first
        return [*(one for one in runs if one.app_id != self._client.app_id), *newest.values()]

    async def _list_results(
        self, repository: RepositoryRef, head_sha: str, path: str, key: str | None = None
    ) -> tuple[list[SpokenRun], list[SpokenStatus]]:
        """The newest check run of each name in each check suite, and the statuses.

        :param path: ``status`` has the newest status of each context, ``statuses`` every one, and who set it.
        """
        purpose = f"read the checks on {head_sha[:7]} of {repository.full_name}"
        commit = f"commits/{quote_segment(head_sha)}"
        latest = {"filter": "latest"}
        runs = await self._list(SpokenRun, repository, f"{commit}/check-runs", purpose, latest, key="check_runs")
        return runs, await self._list(SpokenStatus, repository, f"{commit}/{path}", purpose, key=key)

    async def check_details(self, repository: RepositoryRef, check: FailingCheck, most: int) -> str:
        """The annotations of a failing check and, of a job of the repository's own workflows, the end of its log.

        What GitHub does not show any more, or not to this App, is left out.

        :param most: bytes of the log at most.
        """
        if check.id is None:
            return ""
        lines = await self._read_annotations(repository, check) if check.annotated else []
        try:
            log = await self.job_log(repository, check.id, most) if check.app == SLUG else None
        except (Forbidden, NotFound):
            log = None
        return "\n".join([*lines, *([log] if log else [])])

    async def _read_annotations(self, repository: RepositoryRef, check: FailingCheck) -> list[str]:
        purpose = f"read the annotations of the check run “{check.name}” of {repository.full_name}"
        path = f"check-runs/{check.id}/annotations"
        shown = await self._list(AnnotationShown, repository, path, purpose)
        return [f"{each.path}:{each.start_line}: {each.message or each.title or ''}" for each in shown]


def shorten(text: str, limit: int) -> str:
    """``text`` if it fits; otherwise its beginning up to the end of a line, with what is open closed, and a note.

    :param limit: characters, at least 1,000.
    """
    if len(text) <= limit:
        return text
    note = _NOTE.format(limit=limit)
    kept = _whole_lines(text[: limit - len(note) - _ROOM_FOR_CLOSING])
    closing = _close_open(kept)
    if len(closing) > _ROOM_FOR_CLOSING:  # nested absurdly deep: show it as it is rather than not at all
        closing = ""
    return kept + closing + note


def shorten_bytes(text: str, limit: int) -> str:
    """Plain text of at most ``limit`` bytes of UTF-8, never ending inside a character."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - 3].decode(errors="ignore") + "…"


def _whole_lines(text: str) -> str:
    end = text.rfind("\n", len(text) // 2)  # a very long line is cut inside rather than lost
    return text if end < 0 else text[:end]


def _close_open(text: str) -> str:
    """The text that closes everything that ``text`` leaves open, innermost first."""
    fence, prose = _open_fence(text)
    parts: list[str] = [f"\n{fence}"] if fence else []
    if prose.rfind("<!--") > prose.rfind("-->"):
        parts.append("\n-->")
    depth = 0
    for tag in _DETAILS.finditer(prose):
        depth = max(0, depth - 1 if tag[1] else depth + 1)
    return "".join(parts) + "\n\n</details>" * depth


def _open_fence(text: str) -> tuple[str, str]:
    """The fence that is still open at the end, or an empty text, and all lines outside fences."""
    fence = ""
    prose: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if not fence:
            fence = found[1] if found else ""
            prose += [] if found else [line]
        elif found and found[1].startswith(fence) and not line[found.end() :].strip():
            fence = ""
    return fence, "\n".join(prose)
