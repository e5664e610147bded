"""A verdict: a decision with the tree of reasons that led to it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Reason(BaseModel):
    """One node of a verdict's reasons.

    :param code: a stable, machine-readable name such as ``risk.sensitive_path``.
    :param text: the same for people, one sentence.
    :param value: what was measured, if anything was.
    :param threshold: what it was compared with.
    """

    model_config = ConfigDict(frozen=True)

    code: str
    text: str
    value: float | None = None
    threshold: float | None = None
    children: tuple[Reason, ...] = ()
