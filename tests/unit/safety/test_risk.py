"""The risk score names what it rests on, and rests on nothing that only looks like it."""

import pytest

from domain.review.changes import Change, ChangeStatus, FileChange, TouchedFile
from domain.review.findings import Category
from domain.review.reading import Impact
from domain.review.review import BEHAVIOUR, Risk, RiskLevel, RiskPart
from safety.risk import assess, is_risky, lacks_tests, reassess
from tests.unit.checks.building import file_change
from tests.unit.checks.findings import build_raw_finding

SOME = 5  # changed lines


def _change(*touched: TouchedFile, files: tuple[FileChange, ...] = ()) -> Change:
    return Change(
        merge_base="a",
        head_sha="b",
        files=files,
        touched=touched,
        total_files=len(touched),
        additions=0,
        deletions=0,
    )


def _points(*touched: TouchedFile) -> dict[str, int]:
    return {part.code: part.points for part in assess(_change(*touched), ()).parts}


def _new(path: str, lines: int) -> tuple[TouchedFile, FileChange]:
    return TouchedFile(path=path, lines=lines), FileChange(path=path, status=ChangeStatus.added, additions=lines)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("app/auth.py", "area.access"),
        ("web/session/store.ts", "area.access"),
        ("config/permissions.yml", "area.access"),
        (".github/workflows/ci.yml", "area.pipeline"),
        (".travis.yml", "area.pipeline"),
        (".circleci/config.yml", "area.pipeline"),
        (".asf.yaml", None),
        ("requirements/dev.txt", "area.dependencies"),
        ("setup.cfg", "area.dependencies"),
        (".github/CODEOWNERS", "area.owners"),
        ("docs/api/auth.doctree", None),
        ("requirements-dev.txt", "area.dependencies"),
        ("requirements/extras/auth.txt", "area.dependencies"),
        ("docs/authentication.md", None),
        ("src/author.py", None),
        ("src/oauth2/flow.py", "area.access"),
        ("lib/authorize.rb", "area.access"),
        ("tests/test_auth.py", None),
        ("tests/data/package.json", None),
        ("db/migrate/20260101_add_a.rb", "area.migration"),
        ("app/models/user.rb", "area.data"),
        ("src/OrderRepository.java", "area.data"),
        ("app/controllers/posts.rb", "area.entry"),
        ("src/main.rs", "area.entry"),
        ("src/web/PostController.java", "area.entry"),
        ("app/prices.py", None),
    ],
)
def test_areas(path: str, part: str | None) -> None:
    assert set(_points(TouchedFile(path=path, lines=SOME))) == ({part} if part else set())


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("src/urllib3/util/ssl_.py", True),
        ("lib/tls/handshake.c", True),
        ("pkg/ssh/client.go", True),
        ("src/cryptography/x509/name.py", True),
        ("deployment/certs/server.pem", True),
        ("app/jwt-filter.ts", True),
        ("web/saml2.rb", True),
        ("src/hassle.py", False),
        ("app/subtls.py", False),
        ("app/pushsh.py", False),
        ("app/concerts/list.py", False),
        ("app/certain.py", False),
        ("app/lesson.py", False),
        ("app/ajwt.py", False),
        ("app/samling.py", False),
        ("docs/tls.html", False),
        ("tests/test_ssl.py", False),
        ("notes/ssh.md", False),
    ],
)
def test_what_guards_a_connection_is_access_by_whole_words(path: str, is_one: bool) -> None:
    assert ("area.access" in _points(TouchedFile(path=path, lines=SOME))) is is_one


@pytest.mark.parametrize(
    ("lines", "access", "pipeline", "owners"),
    [(1, 3, 2, 2), (3, 3, 2, 2), (10, 5, 4, 4), (20, 10, 8, 8), (500, 10, 8, 8), (None, 10, 8, 8)],
)
def test_areas_count_by_how_much_is_changed_there(lines: int | None, access: int, pipeline: int, owners: int) -> None:
    assert _points(TouchedFile(path="app/auth.py", lines=lines)) == {"area.access": access}
    assert _points(TouchedFile(path=".github/workflows/ci.yml", lines=lines)) == {"area.pipeline": pipeline}
    assert _points(TouchedFile(path="CODEOWNERS", lines=lines)) == {"area.owners": owners}


def test_lines_of_an_area_are_counted_together() -> None:
    small = [TouchedFile(path=f"auth/{number}.py", lines=5) for number in range(4)]
    assert _points(*small[:2]) == {"area.access": 5}
    assert _points(*small) == {"area.access": 10}


@pytest.mark.parametrize(
    "nothing",
    [
        TouchedFile(path="demo/auth.py", lines=40, is_gone=True),
        TouchedFile(path="auth/new.py", old_path="app/old.py", lines=0),
        TouchedFile(path="migrations/b.py", old_path="migrations/a.py", lines=0),
        TouchedFile(path="deploy/run.sh", lines=0),
        TouchedFile(path="package.json", is_gone=True),
        TouchedFile(path=".github/workflows/b.yml", old_path=".github/workflows/a.yml", lines=0),
    ],
)
def test_a_deletion_a_move_and_a_mode_bring_nothing_in(nothing: TouchedFile) -> None:
    assert _points(nothing) == {}


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        (TouchedFile(path="CODEOWNERS", lines=1, is_gone=True), ("area.owners", "CODEOWNERS")),
        (TouchedFile(path="OLD", old_path=".github/CODEOWNERS", lines=0), ("area.owners", ".github/CODEOWNERS")),
        (
            TouchedFile(path=".github/workflows/a.yml", old_path="docs/a.yml", lines=0),
            ("area.pipeline", ".github/workflows/a.yml"),
        ),
        (TouchedFile(path="core/a.c", lines=9, is_gone=True), ("area.sensitive", "core/a.c")),
    ],
)
def test_taking_a_guard_away_or_putting_one_there_counts(guard: TouchedFile, said: tuple[str, str]) -> None:
    [part] = assess(_change(guard), (), sensitive=("core/**",)).parts
    assert (part.code, part.text.rpartition(": ")[2]) == said


@pytest.mark.parametrize(
    ("path", "is_one"),
    [("tests/test_a.py", True), ("web/a.spec.ts", True), ("tests/unit/__init__.py", False), ("tests/a.json", False)],
)
def test_deleted_tests(path: str, is_one: bool) -> None:
    assert ("tests.deleted" in _points(TouchedFile(path=path, is_gone=True))) is is_one


@pytest.mark.parametrize(
    ("test", "source", "counts"),
    [
        ("tests/test_x.py", "app/x.py", False),
        ("test/x.spec.ts", "src/x.ts", False),
        ("web/x.test.tsx", "web/x.js", False),
        ("pkg/x_test.go", "pkg/x.go", False),
        ("src/test/java/PaymentTest.java", "src/main/java/Payment.java", False),
        ("src/__tests__/x.js", "src/x.js", False),
        ("tests/test_parser.py", "app/parser/__init__.py", False),
        ("web/menu/index.test.ts", "web/menu/index.ts", False),
        ("tests/test_x.py", "app/y.py", True),
        ("tests/test_x.py", "web/x.ts", True),
        ("tests/test_x.py", "docs/x.md", True),
        ("tests/test_x.py", "tests/x.py", True),
        ("web/menu/index.test.ts", "web/list/index.ts", True),
    ],
)
def test_tests_that_go_with_what_they_tested(test: str, source: str, counts: bool) -> None:
    gone = TouchedFile(path=test, is_gone=True), TouchedFile(path=source, is_gone=True)
    assert ("tests.deleted" in _points(*gone)) is counts
    assert "tests.deleted" in _points(gone[0], TouchedFile(path=source, lines=SOME))


@pytest.mark.parametrize(
    ("place", "left_out", "counts"),
    [
        ("tests/test_x/test_parts.py", 0, False),  # split
        ("tests/test_x/test_parts.py", 3, True),
        ("app/parts.py", 0, True),
    ],
)
def test_tests_whose_lines_are_in_other_tests_are_not_deleted(place: str, left_out: int, counts: bool) -> None:
    text = "".join(f"def test_{each}():\n    assert f({each}) == {each}\n\n" for each in range(9))
    kept = "\n".join(text.split("\n")[3 * left_out :])
    files = file_change("tests/test_x.py", text, None), file_change(place, None, f"import pytest\n\n{kept}")
    gone, new = TouchedFile(path="tests/test_x.py", is_gone=True), TouchedFile(path=place, lines=SOME)
    parts = assess(_change(gone, new, files=files), ()).parts
    assert ("tests.deleted" in {part.code for part in parts}) is counts


def test_source_without_a_test_where_there_are_tests() -> None:
    named, file = _new("app/a.py", 31)
    change = _change(named, files=(file,))
    assert lacks_tests(change, {})
    moved_from = FileChange(path="app/b.py", status=ChangeStatus.deleted, deletions=30)
    assert not lacks_tests(_change(named, files=(file, moved_from)), {})
    assert not lacks_tests(change, {"app/a.py": Impact.comment})
    assert [part.code for part in assess(change, ()).parts] == ["tests.none", "size"]
    assert [part.code for part in assess(change, (), has_tests=False).parts] == ["size"]


@pytest.mark.parametrize(
    ("lines", "other", "lacks"),
    [
        (30, None, False),
        (31, TouchedFile(path="tests/test_b.py"), False),  # over the limits, and a test all the same
        (31, TouchedFile(path="tests/test_b.py", is_gone=True), True),
        (31, TouchedFile(path="app/b.py", lines=1), True),
    ],
)
def test_what_counts_as_source_without_a_test(lines: int, other: TouchedFile | None, lacks: bool) -> None:
    named, file = _new("app/a.py", lines)
    assert lacks_tests(_change(named, *filter(None, [other]), files=(file,)), {}) is lacks


@pytest.mark.parametrize(("lines", "said"), [(1, "Silences checks on 1 line"), (2, "Silences checks on 2 lines")])
def test_comments_that_silence_checks_cost_a_little(lines: int, said: str) -> None:
    assert assess(_change(), ()).parts == ()
    assert [(part.points, part.text) for part in assess(_change(), (), silencing=lines).parts] == [(2, said)]


def test_what_areas_may_count_is_bounded_and_the_rest_is_named() -> None:
    paths = ("app/auth.py", ".github/workflows/ci.yml", "CODEOWNERS", "setup.py")
    points = _points(*(TouchedFile(path=path, lines=20) for path in paths))
    assert points == {"area.access": 10, "area.pipeline": 8, "area.owners": 0, "area.dependencies": 0}


ORDERED = (
    (("app/text.py", 3),),
    (("app/text.py", 30),),
    (("app/text.py", 30), ("app/models/user.py", 30)),
    (("app/text.py", 300), ("app/models/user.py", 30), ("app/api/users.py", 30)),
    (("app/text.py", 300), ("app/models/user.py", 30), ("app/api/auth.py", 30), ("migrations/a.py", 30)),
)


def test_what_is_touched_and_how_much_orders_changes_that_may_all_behave_differently() -> None:
    risks = [_assess_files(*files) for files in ORDERED]
    scores = [risk.score for risk in risks]
    assert scores == sorted(set(scores))
    assert [risk.level for risk in risks] == [RiskLevel.medium] * 5
    assert scores[0] == 25
    assert [is_risky(risk) for risk in risks] == [False, False, False, False, True]


def test_parts_add_up_and_stay_what_they_are_when_findings_come() -> None:
    before = _assess_files(("app/text.py", 30))
    after = reassess(before, [build_raw_finding(category=Category.security)])
    assert after.score == sum(part.points for part in after.parts) == before.score + 6
    assert {part.code: part.points for part in before.parts}.items() <= {p.code: p.points for p in after.parts}.items()


def test_a_risk_kept_by_an_earlier_forge_stays_medium_without_its_findings() -> None:
    kept = (
        RiskPart(code=BEHAVIOUR, points=13, text="May change what the program does: a.py"),
        RiskPart(code="findings.error", points=12, text="1 finding of severity error"),
    )
    assert reassess(Risk(score=25, level=RiskLevel.medium, parts=kept), ()).level is RiskLevel.medium


def test_what_cannot_change_the_program_weighs_nothing_whatever_its_size() -> None:
    file = FileChange(path="docs/a.md", status=ChangeStatus.added, additions=5000)
    change = _change(TouchedFile(path="docs/a.md", lines=5000), files=(file,))
    assert assess(change, (), impacts={"docs/a.md": Impact.document}).score == 0


@pytest.mark.parametrize(
    ("path", "impact", "said"),
    [
        (
            "docs/a.md",
            Impact.behaviour,
            (25, "Text that people or tools may act on, such as a link, a command or terms"),
        ),
        ("CHANGES.rst", Impact.guide, (0, "Text that people or tools may act on, such as a link, a command or terms")),
        ("a.go", Impact.comment, (0, "Only comments, docstrings and layout, which tools may read")),
        ("tests/test_a.py", Impact.comment, (0, "Only comments, docstrings and layout, which tools may read")),
    ],
)
def test_documents_and_comments_are_not_called_a_program(path: str, impact: Impact, said: tuple[int, str]) -> None:
    file = FileChange(path=path, status=ChangeStatus.modified, additions=5)
    [part] = assess(_change(files=(file,)), (), impacts={path: impact}).parts
    assert (part.points, part.text) == (said[0], f"{said[1]}: {path}")


@pytest.mark.parametrize(
    ("path", "impact", "said"),
    [
        ("a.pyi", Impact.behaviour, "Beside the program"),
        ("index.d.ts", Impact.behaviour, "Beside the program"),
        ("docs/source/conf.py", Impact.behaviour, "Beside the program"),
        ("index.test-d.ts", Impact.behaviour, "Changes tests, which CI runs"),
        ("typings/commander-tests.ts", Impact.behaviour, "Changes tests, which CI runs"),
        ("fuzz/fuzz_targets/a.rs", Impact.behaviour, "Changes tests, which CI runs"),
        (".eslintrc.js", Impact.behaviour, "Changes what programs may obey, such as settings"),
        ("tests/.coveragerc", Impact.behaviour, "Changes what programs may obey, such as settings"),
        ("conf.py", Impact.behaviour, "May change what the program does"),
        ("typings/a.ts", Impact.behaviour, "May change what the program does"),
        ("setup.py", Impact.version, "Only the version number"),
    ],
)
def test_only_a_program_is_called_one(path: str, impact: Impact, said: str) -> None:
    file = FileChange(path=path, status=ChangeStatus.modified, additions=5)
    part = assess(_change(files=(file,)), (), impacts={path: impact}).parts[0]
    assert (part.points, part.text) == (25 if impact is Impact.behaviour else 0, f"{said}: {path}")


def test_what_only_a_name_tells_is_said_so() -> None:
    [part] = _assess_files(("schema.py", 3)).parts[1:]
    assert part.text == "Named like code that stores and reads data: schema.py"


def _assess_files(*files: tuple[str, int]) -> Risk:
    named, changed = zip(*(_new(path, lines) for path, lines in files), strict=True)
    test = TouchedFile(path="tests/test_a.py", lines=9)
    impacts = {path: Impact.behaviour for path, _ in files}
    return assess(_change(*named, test, files=changed), (), impacts=impacts)
