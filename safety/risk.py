"""Scores the risk of a change from 0 to 100, with every part of the score named (docs/review.md, risk)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from domain.globs import matches
from domain.paths import is_document, is_manifest, is_program, is_source, is_test, namesake
from domain.review.changes import Change, TouchedFile, list_moved_tests
from domain.review.findings import RawFinding, Severity
from domain.review.reading import Impact
from domain.review.review import ACTING, BEHAVIOUR, LayerReport, Risk, RiskLevel, RiskPart
from safety.protected_files import runs_on_push


@dataclass(frozen=True)
class PullRequestAuthor:
    """The facts about the author of the pull request."""

    from_fork: bool = False
    first_time: bool = False


@dataclass(frozen=True)
class Area:
    """Files in which mistakes cost more.

    :param points: for a large change; see :data:`_FULL`.
    :param covers: whether a path belongs to it.
    :param guards: whether its files protect others, so that adding or deleting one counts as well.
    """

    code: str
    points: int
    text: str
    covers: Callable[[str], bool]
    guards: bool = False


def _area(code: str, points: int, text: str, covers: Callable[[str], object], *, guards: bool = False) -> Area:
    return Area(code, points, text, lambda path: bool(covers(path)) and not is_test(path), guards)


def _match_glob(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.IGNORECASE).search


_CODE = r"\.(py|rb|php|tsx?|jsx?|go|java|cs|rs|kt|scala|c|cc|cpp|sql|prisma)$"
_AREAS = (
    _area(
        "access",
        10,
        "Named like code for authentication, permissions, cryptography or payments",
        _match_glob(
            r"^(?!docs?/|.*\.(md|rst|txt|in|lock|po|svg|png)$).*"
            r"(^|[/_.-])(o?auth[nz2]?|auth(enticat|ori[sz])\w*|login|session|permission\w*|crypt\w*|secrets?|passwords?"
            r"|payments?|billing|m?tls|ssl|sshd?|x509|certs?|certificates?|pki|hmac|jw[tks]|jwks|saml2?|oidc|openid|sso|ldap"
            r"|kerberos|csrf|rbac|mfa|totp|webauthn)([/_.-]|$)"
        ),
    ),
    _area(
        "pipeline", 8, "Touches what runs on pushed branches, such as continuous integration", runs_on_push, guards=True
    ),
    _area("owners", 8, "Touches the rules for required reviewers", _match_glob(r"(^|/)CODEOWNERS$"), guards=True),
    _area(
        "migration",
        8,
        "Touches database migrations",
        _match_glob(
            r"(^|/)(db/)?(migrations?|migrate|alembic)/.*\.(py|sql|rb|php|ts|js|cs|go|java)$|schema\.(sql|rb|prisma)$"
        ),
    ),
    _area(
        "data",
        3,
        "Named like code that stores and reads data",
        _match_glob(
            rf"(^|/)(models?|schemas?|entit(y|ies)|repositor(y|ies)|dao|queries|serializers?)(/.*)?{_CODE}"
            rf"|(^|/)\w*(model|entity|repository|dao|serializer|mapper){_CODE}"
        ),
    ),
    _area(
        "entry",
        3,
        "Named like code where requests, commands or jobs come in",
        _match_glob(
            r"(^|/)(routes?|routers?|controllers?|views?|handlers?|endpoints?|api|graphql|rest|servlets?|middlewares?"
            rf"|commands?|cli|cmd|jobs?|tasks?|workers?|hooks?)/[^/]+{_CODE}"
            rf"|(^|/)(routes?|routing|urls|views|api|cli|main|app|server|application|program|startup|manage){_CODE}"
            rf"|(^|/)\w*(controller|resource|handler|servlet|middleware|endpoint)s?{_CODE}"
        ),
    ),
    _area(
        "infrastructure",
        5,
        "Touches the build or deployment of the software",
        _match_glob(r"(^|/)Dockerfile[^/]*$|docker-compose|\.tf$|(^|/)(deploy|k8s|helm|terraform|ansible)/"),
    ),
    _area("dependencies", 3, "Touches dependencies or settings of the project", is_manifest),
)
_SENSITIVE = 10  # points for a sensitive path of the repository
_MOST_FOR_AREAS = 18
_FULL = 20  # changed lines from which an area counts in full; it counts a third at least

_SIZES = ((1000, 11), (500, 8), (200, 5), (100, 4), (50, 3), (25, 2), (10, 1))  # changed lines above → points
_SPREADS = ((50, 5), (20, 3), (10, 2), (4, 1))  # files above → points
_FINDINGS = {Severity.critical: (20, 45), Severity.error: (6, 15), Severity.warning: (1, 5)}  # each, at most

_SILENCING = 2  # points for comments that silence a tool
RISKY = 18
"""Points beside those for the behaviour, from which a person is asked where no model could read."""
_HARMLESS = {
    Impact.layout: "Only comments and layout",
    Impact.document: "Only text for people",
    Impact.data: "Only data",
}
_PROGRAM = "May change what the program does"
_SETTINGS = "Changes what programs may obey, such as settings"
_TEST = "Changes tests, which CI runs"
_COMMENT = "Only comments, docstrings and layout, which tools may read"
_VERSION = "Only the version number"
_TEXT = "Text that people or tools may act on, such as a link, a command or terms"
_MOVED = "Only moved, with the same content"
_APART = "Beside the program"
_IS_APART = re.compile(r"\.pyi$|\.d\.[cm]?ts$|^docs?/(.*/)?(conf|make[-\w]*)\.py$")
_IS_TEST = re.compile(r"\.test-d\.[cm]?tsx?$|(^|/)typings/[^/]*-tests?\.ts$|(^|/)fuzz(ing|ers)?/")
_ACTS = (_PROGRAM, _APART, _SETTINGS, _TEST, _COMMENT, _VERSION, _TEXT, _MOVED)

_TESTED = 30  # lines by which source may grow without a test
_NO_TESTS = ("__init__.py", "conftest.py")  # these files are among tests but are none


def to_level(score: int) -> RiskLevel:
    """Low 0–24, medium 25–49, high 50–74, critical 75–100."""
    for floor, name in ((75, RiskLevel.critical), (50, RiskLevel.high), (25, RiskLevel.medium)):
        if score >= floor:
            return name
    return RiskLevel.low


def assess(
    change: Change,
    findings: Sequence[RawFinding],
    author: PullRequestAuthor = PullRequestAuthor(),
    sensitive: Sequence[str] = (),
    silencing: int = 0,
    has_tests: bool = True,
    impacts: Mapping[str, Impact] | None = None,
) -> Risk:
    """The risk of a change.

    :param findings: the findings so far.
    :param sensitive: glob patterns of the repository's configuration (``paths.sensitive``).
    :param silencing: how many added lines have a comment that silences a tool.
    :param has_tests: whether there was any test before the change.
    :param impacts: path → what the change of this file can do (:func:`safety.impact.assess_impact`).
    """
    parts = [
        *_score_impacts(impacts or {}, {each.path: each for each in change.touched}),
        *_score_size(change, impacts or {}),
        *_score_areas(change.touched, sensitive),
        *_score_findings(findings),
        *(_score_untested(change, impacts or {}) if has_tests else ()),
        *_score_deleted_tests(change),
        *_score_coverage(change),
        *_score_silencing(silencing),
        *_score_author(author),
    ]
    return _total(parts)


def reassess(risk: Risk, findings: Sequence[RawFinding]) -> Risk:
    """The risk of the same change with other findings."""
    kept = [part for part in risk.parts if not part.code.startswith("findings.")]
    return _total([*kept, *_score_findings(findings)])


def is_risky(risk: Risk) -> bool:
    """Whether more speaks for a risk than that the program may behave differently."""
    return risk.score_of_facts >= RISKY


def weigh_layer(layer: LayerReport, risk: Risk) -> LayerReport:
    """The layer as this risk requires it: dismissals may lower what asked for it, and taking them back raises it."""
    if layer.if_risky is None:
        return layer
    missing = layer.if_risky.replace("{points}", str(risk.score_of_facts)) if is_risky(risk) else None
    return layer.model_copy(update={"missing": missing})


def _total(parts: Sequence[RiskPart]) -> Risk:
    least = ACTING if any(part.code == BEHAVIOUR and part.points for part in parts) else 0
    score = max(least, min(100, sum(part.points for part in parts)))
    return Risk(score=score, level=to_level(score), parts=tuple(sorted(parts, key=lambda part: -part.points)))


def _score_impacts(impacts: Mapping[str, Impact], touched: Mapping[str, TouchedFile]) -> Iterator[RiskPart]:
    """What the files can do to the program, each kind named.

    :param touched: path → the file.
    """
    acting = {path: each for path, each in impacts.items() if each.can_act}
    if acting:
        points = ACTING if Impact.behaviour in impacts.values() else 0
        yield RiskPart(code=BEHAVIOUR, points=points, text=_describe_behaviour(acting, touched))
    for impact in dict.fromkeys(impacts.values()):
        paths = [path for path, each in impacts.items() if each is impact]
        if not impact.can_act:
            yield RiskPart(code=f"harmless.{impact.value}", points=0, text=f"{_HARMLESS[impact]}: {_list_paths(paths)}")


def _describe_behaviour(acting: Mapping[str, Impact], touched: Mapping[str, TouchedFile]) -> str:
    named = {path: _name_act(each, touched.get(path, TouchedFile(path=path))) for path, each in acting.items()}
    paths = {text: [path for path in named if named[path] == text] for text in _ACTS}
    return ". ".join(f"{text}: {_list_paths(named)}" for text, named in paths.items() if named)


def _name_act(impact: Impact, file: TouchedFile) -> str:
    if file.is_only_moved:
        return _MOVED
    if impact is Impact.comment:
        return _COMMENT
    if impact is Impact.version:
        return _VERSION
    if file.path.rpartition("/")[2].startswith("."):
        return _SETTINGS
    if (
        _IS_TEST.search(file.path)
        or impact is Impact.test
        or (is_test(file.path) and not is_document(file.path) and not is_manifest(file.path))
    ):
        return _TEST
    if is_document(file.path):
        return _TEXT
    if _IS_APART.search(file.path):
        return _APART
    return _PROGRAM if file.is_script or is_program(file.path) else _SETTINGS


def _score_size(change: Change, impacts: Mapping[str, Impact]) -> Iterator[RiskPart]:
    """How much is changed, and in how many files, beside tests and what cannot change the program."""
    weighing = [
        each for each in change.files if impacts.get(each.path, Impact.behaviour).is_logic and not is_test(each.path)
    ]
    lines, files = sum(each.additions + each.deletions for each in weighing), len(weighing)
    if points := next((points for above, points in _SIZES if lines > above), 0):
        yield RiskPart(code="size", points=points, text=f"{lines:,} changed lines that may matter")
    if points := next((points for above, points in _SPREADS if files > above), 0):
        yield RiskPart(code="spread", points=points, text=f"{files:,} files that may matter")


def _score_areas(touched: Sequence[TouchedFile], sensitive: Sequence[str]) -> list[RiskPart]:
    parts: list[RiskPart] = []
    left = _MOST_FOR_AREAS
    for area in _list_areas(sensitive):
        hits = [each for each in touched if _is_hit(area, each)]
        if hits:  # named even if the areas have reached their maximum
            points = min(_weigh_area(area, hits), left)
            text = f"{area.text}: {_list_paths([_inside(area, each) for each in hits])}"
            parts.append(RiskPart(code=f"area.{area.code}", points=points, text=text))
            left -= points
    return parts


def _list_areas(sensitive: Sequence[str]) -> Sequence[Area]:
    theirs = Area(
        "sensitive",
        _SENSITIVE,
        "Touches paths this repository marks as sensitive",
        lambda path: matches(path, sensitive),
        guards=True,
    )
    return (theirs, *_AREAS)


def is_sensitive(path: str, sensitive: Sequence[str]) -> bool:
    """Whether a mistake in this file costs more than in others.

    :param sensitive: as for :func:`assess`.
    """
    return any(area.covers(path) for area in _list_areas(sensitive))


def _is_hit(area: Area, file: TouchedFile) -> bool:
    """A deletion or a move does not change content, but it may remove or add a guard."""
    is_inside, was_inside = area.covers(file.path), area.covers(file.old_path or file.path)
    if area.guards and (file.is_gone or is_inside != was_inside):
        return is_inside or was_inside
    return is_inside and file.has_new_content


def _inside(area: Area, file: TouchedFile) -> str:
    return file.path if area.covers(file.path) else file.old_path or file.path


def _weigh_area(area: Area, hits: Sequence[TouchedFile]) -> int:
    """The points of an area by its changed lines; an unknown number counts as many."""
    lines = sum(_FULL if each.lines is None else each.lines for each in hits)
    return max(area.points // 3, area.points * min(lines, _FULL) // _FULL)


def _score_findings(findings: Sequence[RawFinding]) -> list[RiskPart]:
    parts: list[RiskPart] = []
    for severity, (each, most) in _FINDINGS.items():
        count = sum(finding.severity is severity for finding in findings)
        if count:
            noun = "finding" if count == 1 else "findings"
            parts.append(
                RiskPart(
                    code=f"findings.{severity.value}",
                    points=min(each * count, most),
                    text=f"{count} {noun} of severity {severity.value}",
                )
            )
    return parts


def lacks_tests(change: Change, impacts: Mapping[str, Impact]) -> bool:
    """Whether a change adds much to the program and touches no test.

    :param impacts: as for :func:`assess`; what is only comments, docstrings and layout needs no test.
    """
    is_tested = any(is_test(each.path) and not each.is_gone for each in change.touched)
    return _count_growth(change, impacts) > _TESTED and not is_tested


def _count_growth(change: Change, impacts: Mapping[str, Impact]) -> int:
    """The lines by which source is longer than before: what only moved or got another name is not new."""
    source = (each for each in change.files if is_source(each.path) and not is_test(each.path))
    logic = (each for each in source if impacts.get(each.path, Impact.behaviour).is_logic)
    return sum(each.additions - each.deletions for each in logic)


def _score_untested(change: Change, impacts: Mapping[str, Impact]) -> list[RiskPart]:
    if not lacks_tests(change, impacts):
        return []
    text = f"Source is {_count_growth(change, impacts)} lines longer, and no test changed"
    return [RiskPart(code="tests.none", points=4, text=text)]


def _score_deleted_tests(change: Change) -> list[RiskPart]:
    """Scores deleted tests whose subject, by its name, still exists, and that are nowhere else now."""
    deleted = [each.path for each in change.touched if each.is_gone and is_source(each.path)]
    obsolete = {namesake(path) for path in deleted if not is_test(path)}
    tests = [path for path in deleted if is_test(path) and not path.endswith(_NO_TESTS)]
    moved = list_moved_tests(change) if tests else ()
    missed = [path for path in tests if namesake(path) not in obsolete and path not in moved]
    return [RiskPart(code="tests.deleted", points=5, text=f"Deletes tests: {_list_paths(missed)}")] if missed else []


def _score_coverage(change: Change) -> list[RiskPart]:
    unseen = [entry for entry in change.not_looked_at if entry.matters]
    if not unseen:
        return []
    return [
        RiskPart(
            code="unseen", points=13, text=f"Source that Forge did not look at: {_list_paths([e.path for e in unseen])}"
        )
    ]


def _score_silencing(lines: int) -> list[RiskPart]:
    if not lines:
        return []
    noun = "line" if lines == 1 else "lines"
    return [RiskPart(code="silencing", points=_SILENCING, text=f"Silences checks on {lines:,} {noun}")]


def _score_author(author: PullRequestAuthor) -> list[RiskPart]:
    if author.first_time:
        return [RiskPart(code="author.first_time", points=4, text="First contribution of this author")]
    if author.from_fork:
        return [RiskPart(code="author.fork", points=2, text="Comes from a fork")]
    return []


def _list_paths(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"
