"""Decides whether somebody may do what they ask, by command, button or page, and how long they stay signed in."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from domain.gates import digest
from domain.slash import Deploy, Level, Pause, Rollback, SlashCommand
from domain.value import Value
from domain.verbs import DISPUTING_ROLE, VERBS, Verb
from safety.authorship import Doubt

NOTED_AFTER = timedelta(minutes=1)
"""How old the last page is when the next one is noted, so that reading a page seldom writes."""
KNOWN_LASTS = timedelta(days=180)
"""How long a browser is known in which somebody signed in."""
SIGN_IN_WINDOW = timedelta(minutes=1)
MOST_SESSIONS = 10
"""How many sessions one account has at once; the oldest ones end."""


ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""The roles of a repository, each including the ones before."""


class RefusalCode(StrEnum):
    """Why somebody may not do what they ask."""

    app = "app"  # Apps never command
    edited = "edited"  # edited text never commands
    role = "role"  # their role is too low
    author = "author"  # the author of a change does not judge it
    requester = "requester"  # the person who asked for something does not approve it
    second = "second"  # nothing but that somebody else says the same


class CommandRefusal(Value):
    """A refusal.

    :param needed: the role they would need; ``held`` is the one they have now.
    :param fork: the head comes from a fork, which needs a higher role.
    :param doubt: why it takes a second person.
    :param assent: what is kept of it, so that a second person makes it count; see :func:`name_assent`.
    """

    code: RefusalCode
    verb: Verb
    needed: str
    held: str
    fork: bool = False
    doubt: Doubt | None = None
    assent: str = ""


@dataclass(frozen=True)
class GateRule:
    """Who decides a gate: the least role, and whether who wrote the change or asked for it is left out."""

    role: str
    not_author: bool = False
    not_requester: bool = False


STRICTEST = GateRule("maintain", not_author=True, not_requester=True)
"""What holds for a gate nobody described."""


HOLDING = frozenset({Verb.reject, Verb.delegate, Verb.confirm})
"""What lets nothing pass, so that one person is enough."""


@dataclass(frozen=True)
class AuthorizationFacts:
    """What is known about who asks, and about what.

    :param role: the live role GitHub gave a moment ago.
    :param is_app: the sender is an App, or an App wrote in their name.
    :param is_edited: the text was edited after it was written.
    :param is_author: they opened the pull request, or wrote part of it that nobody else has accepted.
    :param is_requester: they asked for what the gate is about.
    :param needs_ok: the head comes from a fork, and nobody with write permission has let this head be run yet.
    :param is_production: the environment it is about is production.
    :param is_alone: too few others are left with the role; then nobody is left out for being author or requester.
    :param doubt: why it takes a second person to let something pass.
    :param has_second: somebody else said the same before, who is no less entitled to it.
    :param assent: the name of what they say; see :func:`name_assent`.
    """

    role: str
    is_app: bool = False
    is_edited: bool = False
    is_author: bool = False
    is_requester: bool = False
    needs_ok: bool = False
    is_production: bool = True
    is_alone: bool = False
    doubt: Doubt | None = None
    has_second: bool = False
    assent: str = ""


def authorise(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule = STRICTEST) -> CommandRefusal | None:
    """Why they may not; None if they may.

    A button and a page ask for the command that says the same.

    :param gate: the gate a decision is about.
    """
    rule = _find_rule(asked, facts, gate)
    code = _find_refusal(asked, facts, rule)
    if code is None:
        return None
    if code is RefusalCode.second:
        return CommandRefusal(
            code=code, verb=asked.verb, needed=rule.role, held=facts.role, doubt=facts.doubt, assent=facts.assent
        )
    is_fork = bool(VERBS[asked.verb].role.on_fork) and facts.needs_ok and code is RefusalCode.role
    return CommandRefusal(code=code, verb=asked.verb, needed=rule.role, held=facts.role, fork=is_fork)


def is_waived(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule = STRICTEST) -> bool:
    """Whether they may only because nobody else has the role; the audit says so."""
    rule = _find_rule(asked, facts, gate)
    return (
        facts.is_alone
        and facts.doubt is None
        and ((rule.not_author and facts.is_author) or (rule.not_requester and facts.is_requester))
    )


def refuse_role(role: str, minimum: str) -> str | None:
    """Why someone with this role may not do what needs the minimum; None if they may.

    A role this list does not know counts as none.
    """
    if role in ROLES and ROLES.index(role) >= ROLES.index(minimum):
        return None
    return f"refused: it needs the role {minimum}, the sender has {role}"


def may_dispute(asked: SlashCommand, refused: CommandRefusal, facts: AuthorizationFacts) -> bool:
    """Whether who may not dismiss a finding may have others asked about it."""
    is_lacking = refused.code in {RefusalCode.role, RefusalCode.author}
    has_say = facts.is_author or refuse_role(facts.role, DISPUTING_ROLE) is None
    return asked.verb is Verb.dismiss and is_lacking and has_say


def name_assent(asked: SlashCommand, head_sha: str, about: str = "") -> str:
    """The name of what somebody says about a head, which a second person has to say as well; reasons may differ.

    :param about: what a command does not name: a gate, a thread.
    """
    said = asked.model_dump_json(exclude={"reason", "conditions", "gate", "sha"})
    return f"{head_sha} {digest(f'{about} {said}')}"


def needs_authorship(asked: SlashCommand) -> bool:
    """Whether it matters for a command who wrote the change."""
    return VERBS[asked.verb].role.not_author or asked.verb is Verb.undismiss


def _find_refusal(asked: SlashCommand, facts: AuthorizationFacts, rule: GateRule) -> RefusalCode | None:
    if facts.is_app:
        return RefusalCode.app
    if facts.is_edited:
        return RefusalCode.edited
    is_own = VERBS[asked.verb].role.or_author and facts.is_author
    if refuse_role(facts.role, rule.role) is not None and not is_own:
        return RefusalCode.role
    if rule.not_author and facts.is_author and not facts.is_alone:
        return RefusalCode.author
    if rule.not_requester and facts.is_requester and not facts.is_alone:
        return RefusalCode.requester
    if rule.not_author and facts.doubt is not None and not facts.has_second and asked.verb not in HOLDING:
        return RefusalCode.second
    return None


def _find_rule(asked: SlashCommand, facts: AuthorizationFacts, gate: GateRule) -> GateRule:
    """Apply the verb's row (docs/commands.md) to what is asked."""
    needed = VERBS[asked.verb].role
    if needed.is_gates:
        return gate
    if isinstance(asked, Level) and asked.level is not None:
        return GateRule(needed.to_set)
    if isinstance(asked, Pause) and asked.here:
        return GateRule(needed.here)
    if isinstance(asked, Deploy | Rollback) and facts.is_production and asked.environment is not None:
        return GateRule(needed.in_production)
    if needed.on_fork and facts.needs_ok:
        return GateRule(needed.on_fork)
    return GateRule(needed.least, not_author=needed.not_author)


IDLE = timedelta(hours=1)
"""Without a page in this time, a session is over."""
LONGEST = timedelta(hours=8)
"""After this time a session is over in any case."""
SIGN_IN_LASTS = timedelta(minutes=10)
"""How long a sign-in may take; GitHub's code lasts as long."""
MOST_SIGN_INS = 30
"""How many sign-ins may come back from GitHub within :data:`SIGN_IN_WINDOW` until only known browsers may go on.

Anybody can come back with a code that GitHub does not know, and GitHub takes only so many codes in an hour:
https://docs.github.com/apps/oauth-apps/building-oauth-apps/rate-limits-for-oauth-apps
"""


def is_session_over(created_at: datetime, seen_at: datetime, now: datetime) -> bool:
    """Whether a session is over: too long without a page, or too long at all."""
    return now - seen_at >= IDLE or now - created_at >= LONGEST


def is_sign_in_over(begun_at: datetime, now: datetime) -> bool:
    """Whether a sign-in took too long."""
    return now - begun_at >= SIGN_IN_LASTS


def may_sign_in(recent: int) -> bool:
    """Whether another sign-in may come back in a browser that is not known.

    :param recent: how many did within :data:`SIGN_IN_WINDOW`.
    """
    return recent < MOST_SIGN_INS
