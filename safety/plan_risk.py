"""Rates the risk of a plan: the planner's own, or the facts' if that is higher."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from domain.config.configuration import Configuration
from domain.config.limits import ProjectPaths
from domain.paths import fold_path, is_lock
from domain.review.review import RiskLevel
from domain.runs.plan import CONTRACTS, Plan, RatedPlan, covers_path, find_contracts, matches_any_case, to_globs
from domain.verdicts import Reason
from safety import protected_files
from safety.protected_files import STEERS_GIT

MORE_FOR_AGENTS = ("**/migrations/**", "**/alembic/versions/**", "**/db/migrate/**")
"""What becomes of stored data: agents change that only where a person lets them."""

PROTECTED = (*protected_files.PROTECTED, *MORE_FOR_AGENTS)
"""Files that agents may change only after the gate ``protected_paths``, like lock files."""

MOST_GRANTED = 20
"""The most files in one question at that gate: as many as it shows."""

_SHOWN = 20  # paths named below a reason
_RANKS = tuple(RiskLevel)
_NO_PATHS = ProjectPaths()


@dataclass(frozen=True)
class PlanLimits:
    """Sizes above which a plan is of medium, and of high risk."""

    lines: tuple[int, int] = (500, 2_000)
    minutes: tuple[int, int] = (120, 480)
    tasks: tuple[int, int] = (8, 14)
    components: tuple[int, int] = (5, 10)
    files: tuple[int, int] = (20, 50)
    contracts: tuple[int, int] = (0, 1)


LIMITS = PlanLimits()
SMALL = PlanLimits(lines=(200, 0), minutes=(60, 0), tasks=(2, 0), files=(8, 0))
"""Up to which size a person's instruction is carried out without a question."""


@dataclass(frozen=True)
class _Fact:
    """A fact about a plan that implies at least this risk."""

    level: RiskLevel
    reason: Reason


def rate_plan(
    plan: Plan, paths: ProjectPaths = _NO_PATHS, *, contracts: Mapping[str, Sequence[str]] = CONTRACTS
) -> RatedPlan:
    """Rates the plan, never below the planner's own risk.

    :param paths: the repository's protected and sensitive paths.
    :param contracts: contract → globs of its files.
    """
    # The places of the plan: each file and allowed area as written → its globs.
    places = {area: to_globs((area,)) for area in plan.allowed_areas} | {path: (path,) for path in plan.files}
    named = tuple(dict.fromkeys((*plan.contracts, *find_contracts(chain.from_iterable(places.values()), contracts))))
    plan = plan.model_copy(update={"contracts": named})
    facts = [_planner_fact(plan), *_find_sensitive(places, paths), *_contracts(plan, LIMITS), *_sizes(plan, LIMITS)]
    facts.sort(key=lambda fact: -_rank(fact.level))
    return RatedPlan(plan=plan, level=facts[0].level, reasons=tuple(fact.reason for fact in facts))


def needs_approval(level: RiskLevel) -> bool:
    """Whether the plan needs the gate ``architecture_approval`` (docs/gates.md)."""
    return _rank(level) >= _rank(RiskLevel.high)


def is_small(plan: Plan, limits: PlanLimits = SMALL) -> bool:
    """Whether an instruction may be carried out at once; otherwise people see its plan first."""
    sizes = (
        (len(plan.tasks), limits.tasks),
        (len(plan.files), limits.files),
        (plan.estimate.lines, limits.lines),
        (plan.estimate.minutes, limits.minutes),
    )
    return all(size <= most for size, (most, _) in sizes)


def list_grantable(plan: Plan, configuration: Configuration) -> tuple[str, ...]:
    """The protected files of the plan's tasks that a person may release, at most twenty.

    Never git's own files, nor files that agents may not read.
    """
    never = _fold((*STEERS_GIT, *configuration.review.never_send))
    named = [path for path in plan.files if is_off_limits(path, configuration)]
    return tuple(path for path in named if not covers_path(never, fold_path(path)))[:MOST_GRANTED]


def is_off_limits(path: str, configuration: Configuration) -> bool:
    """Whether agents leave this file alone unless a person releases it."""
    protected = _fold((*PROTECTED, *configuration.off_limits_to_agents))
    return is_lock(path) or covers_path(protected, fold_path(path))


def _fold(areas: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(fold_path, areas))


def _rank(level: RiskLevel) -> int:
    return _RANKS.index(level)


def _planner_fact(plan: Plan) -> _Fact:
    children = tuple(Reason(code="risk.planner", text=reason) for reason in plan.risk.reasons)
    text = f"The planner sees {plan.risk.level.value} risk"
    return _Fact(plan.risk.level, Reason(code="plan.risk", text=text, children=children))


def _find_sensitive(places: Mapping[str, Sequence[str]], paths: ProjectPaths) -> Iterator[_Fact]:
    """The sensitive places that the plan names, ignoring case. A wide area that merely contains one does not count:
    protected files stay protected within it.
    """
    high, medium = RiskLevel.high, RiskLevel.medium
    protected = (*protected_files.PROTECTED, *paths.protected)
    yield from _find_hits(high, "plan.protected_path", "Changes protected paths", places, _build_matcher(protected))
    yield from _find_hits(
        high, "plan.migration", "Changes database migrations", places, _build_matcher(CONTRACTS["db"])
    )
    yield from _find_hits(high, "plan.lock_file", "Changes lock files of dependencies", places, is_lock)
    sensitive = "Changes paths this repository marks as sensitive"
    yield from _find_hits(medium, "plan.sensitive_path", sensitive, places, _build_matcher(paths.sensitive))


def _build_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    return lambda place: matches_any_case(place, patterns)


def _find_hits(
    level: RiskLevel, code: str, text: str, places: Mapping[str, Sequence[str]], is_inside: Callable[[str], bool]
) -> Iterator[_Fact]:
    hits = [place for place, meant in places.items() if any(map(is_inside, meant))]
    if hits:
        children = tuple(Reason(code="path", text=place) for place in hits[:_SHOWN])
        full = f"{text}, so {level.value} at least"
        yield _Fact(level, Reason(code=code, text=full, value=len(hits), threshold=0, children=children))


def _contracts(plan: Plan, limits: PlanLimits) -> Iterator[_Fact]:
    noun = "contract" if len(plan.contracts) == 1 else "contracts"
    text = f"Changes the {noun} {', '.join(plan.contracts)}"
    yield from _above("plan.contracts", text, len(plan.contracts), limits.contracts)


def _sizes(plan: Plan, limits: PlanLimits) -> Iterator[_Fact]:
    for name, noun, count, bounds in (
        ("lines", "changed lines expected", plan.estimate.lines, limits.lines),
        ("minutes", "minutes of work expected", plan.estimate.minutes, limits.minutes),
        ("tasks", "tasks", len(plan.tasks), limits.tasks),
        ("components", "components", len(plan.components), limits.components),
        ("files", "files", len(plan.files), limits.files),
    ):
        yield from _above(f"plan.{name}", f"{count:,} {noun}", count, bounds)


def _above(code: str, text: str, count: int, bounds: tuple[int, int]) -> Iterator[_Fact]:
    """Reports a size above one of its bounds, the higher one if it exceeds both."""
    medium, high = bounds
    for level, bound in ((RiskLevel.high, high), (RiskLevel.medium, medium)):
        if count > bound:
            more = f", more than {bound:,}" if bound else ""
            full = f"{text}{more}, so {level.value} at least"
            yield _Fact(level, Reason(code=code, text=full, value=count, threshold=bound))
            return
