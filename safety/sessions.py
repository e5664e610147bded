"""Decides how long somebody stays signed in to the dashboard, and how many sign-ins may begin."""

from datetime import datetime, timedelta

IDLE = timedelta(hours=1)
"""Without a page in this time, a session is over."""
LONGEST = timedelta(hours=8)
"""After this time a session is over in any case."""
NOTED_AFTER = timedelta(minutes=1)
"""How old the last page is when the next one is noted, so that reading a page seldom writes."""
SIGN_IN_LASTS = timedelta(minutes=10)
"""How long a sign-in may take; GitHub's code lasts as long."""
KNOWN_LASTS = timedelta(days=180)
"""How long a browser is known in which somebody signed in."""
MOST_SIGN_INS = 30
"""How many sign-ins may come back from GitHub within :data:`SIGN_IN_WINDOW` until only known browsers may go on.

Anybody can come back with a code that GitHub does not know, and GitHub takes only so many codes in an hour:
https://docs.github.com/apps/oauth-apps/building-oauth-apps/rate-limits-for-oauth-apps
"""
SIGN_IN_WINDOW = timedelta(minutes=1)
MOST_SESSIONS = 10
"""How many sessions one account has at once; the oldest ones end."""


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
