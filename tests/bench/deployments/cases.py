"""The twenty deployments: what is wrong with each, and the word that is true at its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Source(StrEnum):
    """Where the error rate comes from."""

    documented = "documented"  # the query of docs/deployments.md
    recorded = "recorded"  # a recording rule over five of its ranges, of which the query shows nothing
    lying = "lying"  # no errors, whatever there is
    own = "own"  # the documented query, at a Prometheus that dies


class Event(StrEnum):
    """What happens once a part of the traffic is deployed."""

    proxy_dies = "the proxy dies"
    source_dies = "Prometheus dies"
    old_breaks = "the old version breaks"


Trouble = Mapping[str, float]
"""``errors``: share of answers; ``delay``: seconds; ``leak``, ``crash``: after seconds; ``mute``: tells no figures."""


@dataclass(frozen=True)
class Case:
    """One deployment from version `a` to version `b` of its environment.

    :param says: the states that are true at its end.
    :param asks: whether it is true to hold and ask before; None: it may.
    :param answer: what a person answers then; empty: nobody does.
    """

    name: str
    kind: str
    says: Sequence[str]
    new: Trouble = field(default_factory=dict[str, float])
    old: Trouble = field(default_factory=dict[str, float])
    asks: bool | None = False
    answer: str = ""
    steps: Sequence[int] = (25, 100)
    by_command: bool = False
    source: Source = Source.documented
    event: Event | None = None
    hangs: bool = False
    refuses_back: bool = False


_WELL, _BACK, _FAILED = ("healthy",), ("rolled_back",), ("failed",)

CASES: Sequence[Case] = (
    Case("good, by command", "none", _WELL, by_command=True),
    Case("good, by workflow", "none", _WELL),
    Case("good, and its first error ever comes later", "a counter that does not exist yet", _WELL, {"errors": 0.002}),
    Case("good, and a little slower", "none", _WELL, {"delay": 0.023}, by_command=True),
    Case("good, the old one answers 60 % with 500", "bad before", _WELL, {}, {"errors": 0.6}, True, "go-on"),
    Case("bad, and so was the old one", "bad before", _FAILED, {"errors": 0.5}, {"errors": 0.6}, True, "go-on"),
    Case("half of the answers are 500", "errors", _BACK, {"errors": 0.5}),
    Case("half of the answers are 500, at once", "errors", _BACK, {"errors": 0.5}, steps=(100,), by_command=True),
    Case("0.6 s for each answer, at once", "slow answers", _BACK, {"delay": 0.6}, steps=(100,)),
    Case("3 % of the answers are 500", "errors", _BACK, {"errors": 0.03}, asks=True, steps=(100,)),
    Case("slower with every second", "memory leak", _BACK, {"leak": 60}, steps=(100,), by_command=True),
    Case("dies every few seconds", "crash loop", _BACK, {"crash": 4}, asks=None, steps=(100,)),
    Case("tells no figures", "missing metrics", _BACK, {"mute": 1}, asks=True),
    Case("the proxy dies at 25 %", "proxy down", _FAILED, event=Event.proxy_dies),
    Case("its command hangs", "hanging command", _BACK, by_command=True, hangs=True),
    Case("errors, and the host refuses to go back", "bad roll-back", _FAILED, {"errors": 0.5}, refuses_back=True),
    Case("errors, and the old one is broken since", "bad roll-back", _FAILED, {"errors": 0.5}, event=Event.old_breaks),
    Case("Prometheus dies at 25 %", "source down", _FAILED, asks=True, source=Source.own, event=Event.source_dies),
    Case("errors, told by a rule over 5 min", "source late", _BACK, {"errors": 0.5}, asks=None, source=Source.recorded),
    Case("errors, and the source tells none", "source lies", _BACK, {"errors": 0.7}, steps=(100,), source=Source.lying),
)
