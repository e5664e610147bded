"""The forms that propose another configuration, by fields or as text, checked as ``Forge / config`` does."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from bot.dashboard.configuration import EDITOR, PresentFile, load_present
from bot.dashboard.configuration_fields import build_fields, list_elsewhere, read_changes, read_typed
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, SeeOther, Shown, Visit
from domain.config.mistakes import Mistake
from domain.config.presets import Values, apply_ceilings, flatten
from domain.errors import Behind, ForgeError, Halted
from domain.ids import new_id
from domain.text.redaction import redact_outgoing
from memory.repositories import permits
from messages import configuration_proposal as texts
from messages.config import ValueChange, list_changes
from pipeline.automation.level import find_opening_obstacle
from pipeline.config.editing import edit_file
from pipeline.config.parsing import PATH, Parsed, parse
from pipeline.publishing.configuration_proposal import ConfigurationProposal, propose_once

_NO_FILE = "none"
_DIFF_LINES = 400


@dataclass(frozen=True)
class Entered:
    """What a person entered.

    :param base: which version of the file the form was made from.
    :param form: the id of the form; sent twice it makes one pull request.
    :param typed: of the fields, by path.
    :param text: of the whole file; None: the fields were filled.
    """

    base: str
    form: str
    typed: Mapping[str, str]
    text: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What the checks say of what was entered.

    :param why: why nothing was sent, for people; empty if there is no reason against it.
    :param after: the new version of the file.
    """

    why: str = ""
    mistakes: Sequence[Mistake] = ()
    idle: Sequence[Mistake] = ()
    changed: Sequence[ValueChange] = ()
    after: bytes = b""
    is_good: bool = False


async def show_fields(visit: Visit) -> Shown:
    """The form with fields."""
    present = await load_present(visit)
    return _render(present, Entered(_name_version(present.content), new_id(), {}), Outcome(), is_new=True)


async def show_text(visit: Visit) -> Shown:
    """The form with the whole file as text."""
    present = await load_present(visit)
    text = (present.content or b"").decode("utf-8", "replace")
    return _render(present, Entered(_name_version(present.content), new_id(), {}, text), Outcome(), is_new=True)


async def send_fields(visit: Visit) -> Shown:
    """Check what was entered into the fields, and propose it if that was asked for."""
    return await _send(visit, _read(visit, None))


async def send_text(visit: Visit) -> Shown:
    """Check the text, and propose it if that was asked for."""
    text = visit.form.get("text", "").replace("\r\n", "\n")
    return await _send(visit, _read(visit, text))


def _read(visit: Visit, text: str | None) -> Entered:
    form = visit.form.get("form", "")[:40]
    return Entered(visit.form.get("base", "")[:64], form, read_typed(visit.form) if text is None else {}, text)


async def _send(visit: Visit, entered: Entered) -> Shown:
    if not visit.may(EDITOR):  # any more: the form was opened by somebody who could
        return _render(None, entered, Outcome(visit.explain_role(EDITOR)), status=403)
    present = await load_present(visit)
    outcome = _check(visit, present, entered)
    if not outcome.is_good or visit.form.get("do") != "propose":
        return _render(present, entered, outcome)
    why = await _find_obstacle(visit)
    if why:
        return _render(present, entered, Outcome(why, (), outcome.idle, outcome.changed, outcome.after))
    account = visit.session.account_id
    asked = ConfigurationProposal(
        key=f"form {visit.repository.id} {account} {entered.form} {_name_version(outcome.after)}",
        before=present.content,
        after=outcome.after,
        by=visit.sender,
        body=texts.render_body(visit.session.login, outcome.changed),
    )
    try:
        number = await propose_once(visit.services, visit.repository, asked)
    except ForgeError as error:
        why = _explain_error(error)
        return _render(present, entered, Outcome(why, (), outcome.idle, outcome.changed, outcome.after))
    return SeeOther(visit.address("configuration", proposed=number))


def _explain_error(error: ForgeError) -> str:
    match error:
        case Halted():
            return texts.explain_halt()
        case Behind():
            return texts.explain_interruption()
        case _:
            return str(error)


def _check(visit: Visit, present: PresentFile, entered: Entered) -> Outcome:
    if entered.base != _name_version(present.content):
        return Outcome(texts.explain_changed_meanwhile())
    if entered.text is None and present.mistakes:
        return Outcome(f"{PATH} has mistakes, so no field can be put into it. Correct it as text first.")
    after = _write(present, entered)
    if after == (present.content or b""):
        return Outcome("This changes nothing.")
    if redact_outgoing(after.decode()) != after.decode():
        return Outcome(texts.explain_secret())
    parsed = parse(after, present.loaded.below)
    if parsed.configuration is None:
        count = len(parsed.mistakes)
        why = "There is a mistake in what you entered." if count == 1 else f"There are {count} mistakes."
        return Outcome(f"{why} Nothing was sent.", parsed.mistakes)
    return Outcome("", (), parsed.idle, _compare(visit, present, parsed), after, is_good=True)


def _write(present: PresentFile, entered: Entered) -> bytes:
    if entered.text is None:
        changes = read_changes(present.own, entered.typed)
        return edit_file(present.content, changes) if changes else present.content or b""
    text = entered.text if entered.text.endswith("\n") or not entered.text else f"{entered.text}\n"
    ending = "\r\n" if b"\r\n" in (present.content or b"") else "\n"  # as the file has it; browsers change it
    return text.replace("\n", ending).encode("utf-8", "replace")


def _compare(visit: Visit, present: PresentFile, parsed: Parsed) -> Sequence[ValueChange]:
    assert parsed.configuration is not None
    then = apply_ceilings(parsed.configuration, visit.services.ceilings.of_configuration)
    before, after = (flatten(one.model_dump(mode="json")) for one in (present.loaded.configuration, then))
    return list_changes(before, after)


async def _find_obstacle(visit: Visit) -> str:
    pauser = await permits.find_pauser(visit.database, visit.repository)
    if pauser is not None:
        return texts.explain_pause(pauser)
    why = await find_opening_obstacle(visit.services, visit.repository)
    return "" if why is None else texts.explain_obstacle(why)


def _render(
    present: PresentFile | None, entered: Entered, outcome: Outcome, *, is_new: bool = False, status: int = 200
) -> Page:
    """The form.

    :param present: None: whoever sees it may read nothing of what holds, only what they entered.
    """
    own: Values = {} if present is None else present.own
    effective: Values = {} if present is None else present.loaded.configuration.model_dump(mode="json")
    is_text = entered.text is not None
    typed = None if is_new else entered.typed
    shown: dict[str, object] = {
        "present": present,
        "path": PATH,
        "is_text": is_text,
        "groups": [] if is_text else build_fields(own, effective, typed, outcome.mistakes),
        "text": entered.text or "",
        "base": entered.base if present is None else _name_version(present.content),
        "form": entered.form or new_id(),
        "outcome": outcome,
        "mistakes": outcome.mistakes if is_text else list_elsewhere(outcome.mistakes),
        "diff": () if present is None or not outcome.after else _draw_diff(present.content or b"", outcome.after),
    }
    return Page("configuration-form.html", "Change the configuration", shown, status)


def _draw_diff(before: bytes, after: bytes) -> Sequence[str]:
    lines = unified_diff(
        before.decode("utf-8", "replace").splitlines(), after.decode().splitlines(), "now", "then", lineterm=""
    )
    return [*lines][:_DIFF_LINES]


def _name_version(content: bytes | None) -> str:
    return _NO_FILE if content is None else hashlib.sha256(content).hexdigest()


PAGES = (
    RepositoryPage("configuration/change", show_fields, least=EDITOR),
    RepositoryPage("configuration/text", show_text, least=EDITOR),
)
ACTIONS = (
    RepositoryAction("configuration/change", send_fields, least="read"),
    RepositoryAction("configuration/text", send_text, least="read"),
)
