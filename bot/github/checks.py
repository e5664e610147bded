"""Builds the requests that create and update a check run, within GitHub's limits."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from bot.github.markdown import shorten, shorten_bytes, shorten_plain
from bot.github.payloads.checks import AnnotationShown
from domain.errors import Unprocessable
from domain.github.checks import Annotation, Button, CheckRun

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
    return {**_body(check, annotations), "head_sha": check.head_sha}


def update_body(check: CheckRun, annotations: Sequence[Annotation]) -> JsonValue:
    """Body of ``PATCH check-runs/{id}``: everything but the head, which GitHub never changes."""
    return _body(check, annotations)


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


def _body(check: CheckRun, annotations: Sequence[Annotation]) -> dict[str, JsonValue]:
    output: dict[str, JsonValue] = {
        "title": shorten_plain(check.title, MAX_TITLE),
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
            "title": shorten_plain(one.title, MAX_TITLE),
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
