"""What a change must not do: areas, protection, path rules, contract locks, modes and sizes; and what it may."""

from collections.abc import Mapping, Sequence

import pytest

from domain.config.limits import PathRule
from domain.review.findings import Severity
from domain.runs.patches import (
    Areas,
    ChangedFile,
    ChangeSet,
    ContractLock,
    PatchLimits,
    Violation,
    select_blocking,
    select_reported,
)
from domain.runs.plan import CONTRACTS, find_contracts
from tests.unit.patches.building import hunk, new_file, tree
from workspace.patches.tree import FileTree
from workspace.patches.validation import judge, validate

FREE = Areas(role="implementer", contracts={})
BASE: Mapping[str, bytes] = {"src/a.py": b"1\n", "docs/b.md": b"1\n", "README.md": b"1\n"}


def edit(*paths: str) -> ChangeSet:
    """A change that edits or makes these files."""
    return ChangeSet(files=tuple(ChangedFile(path=path, before=BASE.get(path), after=b"2\n") for path in paths))


def wrong(change: ChangeSet, areas: Areas = FREE, base: FileTree | None = None) -> list[tuple[str, str, str]]:
    found = validate(change, areas, base or tree(BASE))
    assert all(each.message.endswith(".") and each.suggestion.endswith(".") for each in found)
    return [(each.file, each.constraint, each.severity.value) for each in found]


def test_nothing_is_wrong_with_an_ordinary_change() -> None:
    assert wrong(edit("src/a.py", "src/new.py", "tests/test_a.py"), Areas(role="implementer")) == []


# --- areas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "path", "is_allowed"),
    [
        (("app/[id]",), "app/[id]/x.py", True),
        (("app/[id]",), "app/i/x.py", False),
        (None, "anything", True),
        ((), "src/a.py", False),
        (("src/**",), "src/deep/x.py", True),
        (("src/*",), "src/deep/x.py", False),
        (("src",), "src/deep/x.py", True),
        (("src/",), "src/deep/x.py", True),
        (("src",), "src2/x.py", False),
        (("lib",), "Lib/x.py", False),
        (("src/*/",), "src/deep/x.py", True),
        (("src/*/",), "src/x.py", False),
        (("src/a.py",), "src/a.py", True),
        (("**/*.py", "docs"), "docs/x", True),
    ],
)
def test_allowed_areas(allowed: tuple[str, ...] | None, path: str, is_allowed: bool) -> None:
    found = wrong(edit(path), Areas(role="implementer", allowed=allowed, contracts={}))
    assert found == ([] if is_allowed else [(path, "allowed_areas", "error")])


@pytest.mark.parametrize("path", ["secrets/x", "Secrets/x", "SECRETS/deep/x", "a/key.pem", "a/KEY.PEM"])
def test_forbidden_areas(path: str) -> None:
    areas = Areas(role="implementer", allowed=("**",), forbidden=("secrets", "**/*.pem"), contracts={})
    assert wrong(edit(path), areas) == [(path, "forbidden_areas", "error")]


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        ".github/actions/x/action.yml",
        ".github/forge.yml",
        ".GitHub/Workflows/ci.yml",
        "CODEOWNERS",
        ".github/CODEOWNERS",
        "docs/CODEOWNERS",
        "docs/codeowners",
        "package-lock.json",
        "web/yarn.lock",
        "uv.lock",
        "go.sum",
        "Cargo.lock",
        "shop/migrations/0001_initial.py",
        "migrations/versions/0001.py",
        "db/migrate/2020_x.rb",
        "deploy/prod.tf",
    ],
)
def test_protected_areas(path: str) -> None:
    areas = Areas(role="implementer", protected=("deploy/**",), contracts={})
    assert wrong(edit(path), areas) == [(path, "protected_areas", "error")]
    granted = Areas(role="implementer", protected=("deploy/**",), contracts={}, granted=frozenset({path}))
    assert wrong(edit(path), granted) == [(path, "protected_areas", "info")]


@pytest.mark.parametrize(
    ("path", "granted"),
    [
        *((path, path) for path in (".gitattributes", "src/.gitattributes", ".gitmodules", ".GitModules")),
        *((path, "poetry.lock") for path in ("uv.lock", "web/poetry.lock", "Poetry.lock", "poetry.lock/x")),
    ],
)
def test_a_grant_is_for_the_very_path_and_never_for_what_steers_git(path: str, granted: str) -> None:
    areas = Areas(role="implementer", protected=("**/x",), contracts={}, granted=frozenset({granted}))
    assert wrong(edit(path), areas) == [(path, "protected_areas", "error")]


@pytest.mark.parametrize(
    "path",
    ["src/workflows/x.py", ".github/labels.yml", "pyproject.toml", "migrations.md", "src/locks.py", ".gitignore"],
)
def test_what_is_not_protected(path: str) -> None:
    assert wrong(edit(path)) == []


@pytest.mark.parametrize(
    ("role", "path", "expected"),
    [
        ("implementer", "tests/x.py", [("tests/x.py", "path_rules", "warning")]),
        ("tester", "tests/x.py", []),
        ("tester", "infra/x", [("infra/x", "path_rules", "critical")]),
        ("implementer", "TESTS/x.py", [("TESTS/x.py", "path_rules", "warning")]),
        ("implementer", "src/x.py", []),
    ],
)
def test_path_rules(role: str, path: str, expected: Sequence[tuple[str, str, str]]) -> None:
    rules = (
        PathRule(paths=("tests/**",), roles=("tester",), severity="warning"),
        PathRule(paths=("infra/**",), severity="critical"),
    )
    assert wrong(edit(path), Areas(role=role, rules=rules, contracts={})) == expected


# --- contracts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lock", "is_free"),
    [
        (ContractLock(("api/openapi.yaml",)), False),
        (ContractLock(("api/openapi.yaml",), token=3), True),
        (ContractLock(("api/openapi.yaml",), token=3, newest=3), True),
        (ContractLock(("api/openapi.yaml",), token=3, newest=4), False),
    ],
)
def test_a_contract_is_changed_under_its_lock_only(lock: ContractLock, is_free: bool) -> None:
    found = wrong(edit("api/openapi.yaml", "src/a.py"), Areas(role="implementer", contracts={"openapi": lock}))
    assert found == ([] if is_free else [("api/openapi.yaml", "contract_lock", "error")])


@pytest.mark.parametrize(
    ("path", "contracts"),
    [
        ("openapi.yaml", ("openapi",)),
        ("api/OpenAPI.json", ("openapi",)),
        ("docs/swagger.json", ("openapi",)),
        ("schema/events/order.json", ("events",)),
        ("asyncapi.yml", ("events",)),
        ("proto/shop.proto", ("rpc",)),
        ("shop/migrations/0002.py", ("db",)),
        ("prisma/schema.prisma", ("db",)),
        ("src/events/handler.py", ()),
        ("src/a.py", ()),
    ],
)
def test_contracts_of_a_repository_that_names_none(path: str, contracts: tuple[str, ...]) -> None:
    assert find_contracts([path]) == contracts
    unlocked = Areas(role="implementer", granted=frozenset({path}))
    assert [each[1] for each in wrong(edit(path), unlocked) if each[2] != "info"] == ["contract_lock"] * len(contracts)
    held = {name: ContractLock(globs, token=1) for name, globs in CONTRACTS.items()}
    assert not select_blocking(
        validate(edit(path), Areas("implementer", contracts=held, granted=frozenset({path})), tree(BASE))
    )


# --- files -------------------------------------------------------------------------------------------------


def test_a_path_that_leads_elsewhere_is_critical() -> None:
    for path in ("../x", "/etc/passwd", ".git/hooks/post-checkout", "a/.GIT./config"):
        assert (path, "path", "critical") in wrong(edit(path))


@pytest.mark.parametrize(
    ("new", "clashes"),
    [
        ("readme.md", True),
        ("README.MD", True),
        ("Src/b.py", True),
        ("src/a.py/x", True),
        ("src", True),
        ("docs/Readme.md", False),
        ("src/b.py", False),
        ("src/a.PY", True),
    ],
)
def test_new_paths_that_cannot_stand_beside_others(new: str, clashes: bool) -> None:
    assert wrong(edit(new)) == ([(new, "path", "error")] if clashes else [])


def test_two_new_paths_that_clash() -> None:
    assert wrong(edit("x/One", "x/one")) == [("x/One", "path", "error"), ("x/one", "path", "error")]
    assert wrong(edit("n/é", "n/e\u0301")) == [("n/é", "path", "error"), ("n/e\u0301", "path", "error")]


def test_a_path_that_makes_room_does_not_clash() -> None:
    gone = (
        ChangedFile(path="README.md", before=b"1\n", after=None),
        ChangedFile(path="src/a.py", before=b"1\n", after=None),
    )
    assert wrong(ChangeSet(files=(*gone, *edit("readme.md", "SRC/x", "src/a.py/y").files))) == [
        ("SRC/x", "path", "error")
    ]
    assert wrong(ChangeSet(files=(*gone, *edit("readme.md", "SRC/x").files))) == []


def test_paths_that_stood_beside_each_other_before_may_be_edited() -> None:
    base = tree({"x/One": b"1\n", "X/one": b"1\n"})
    one = ChangedFile(path="x/One", before=b"1\n", after=b"2\n")
    other = ChangedFile(path="X/two", before=None, after=b"2\n")
    assert wrong(ChangeSet(files=(one, other)), base=base) == []


def test_clashes_are_seen_across_changes() -> None:
    """A later change is judged against the files as the earlier ones left them."""
    gone = ChangeSet(files=(ChangedFile(path="README.md", before=b"1\n", after=None),))
    base = tree(BASE).after(gone).after(edit("n/One"))
    assert wrong(edit("readme.md"), base=base) == []
    assert wrong(edit("n/one"), base=base) == [("n/one", "path", "error")]
    assert wrong(edit("N/x"), base=base) == [("N/x", "path", "error")]


@pytest.mark.parametrize(
    ("before", "after", "old_mode", "mode", "expected"),
    [
        (None, b"x", None, "120000", [("mode", "critical")]),
        (None, b"x", None, "160000", [("mode", "critical")]),
        (b"1\n", None, "120000", "120000", [("mode", "critical")]),
        (b"1\n", b"x", "120000", "100644", [("mode", "critical")]),
        (b"1\n", b"x", "100644", "100755", [("mode", "error")]),
        (None, b"x", None, "100755", [("mode", "warning")]),
        (b"1\n", b"x", "100755", "100755", []),
    ],
)
def test_modes(
    before: bytes | None, after: bytes | None, old_mode: str | None, mode: str, expected: Sequence[tuple[str, str]]
) -> None:
    path = "src/a.py" if before else "src/new.py"
    file = ChangedFile(path=path, before=before, after=after, mode=mode, old_mode=old_mode)
    assert wrong(ChangeSet(files=(file,))) == [(path, *each) for each in expected]


def test_a_change_against_other_files_than_there_are() -> None:
    new = ChangedFile(path="src/a.py", before=None, after=b"x")
    gone = ChangedFile(path="src/none.py", before=b"x", after=b"y")
    assert wrong(ChangeSet(files=(new, gone))) == [("src/a.py", "base", "error"), ("src/none.py", "base", "error")]


# --- sizes and severities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (PatchLimits(files=1), "The change has 2 files, and 1 are allowed."),
        (PatchLimits(new_files=0), "The change has 1 new files, and 0 are allowed."),
        (PatchLimits(lines=2), "The change has 3 lines, and 2 are allowed."),
        (PatchLimits(file_bytes=1), "It would have 2 bytes, and 1 are allowed."),
        (PatchLimits(files=2, new_files=1, lines=3, file_bytes=2), ""),
    ],
)
def test_limits(limits: PatchLimits, said: str) -> None:
    found = validate(edit("src/a.py", "src/new.py"), FREE, tree(BASE), limits)
    assert {each.message for each in found} == ({said} if said else set())


def test_what_severities_mean() -> None:
    def of(severity: Severity) -> Violation:
        return Violation(file="x", constraint="mode", severity=severity, message="m.", suggestion="s.")

    each = [of(severity) for severity in Severity]
    assert select_reported(each) == each[1:]
    assert select_blocking(each) == each[2:]


def test_a_patch_is_judged_by_the_same_function() -> None:
    areas = Areas(role="implementer", allowed=("src",))
    fine = judge(hunk("src/a.py", "@@ -1 +1 @@\n-1\n+2\n"), tree(BASE), areas)
    assert fine.change == ChangeSet(
        files=(ChangedFile(path="src/a.py", before=b"1\n", after=b"2\n", old_mode="100644"),)
    )
    warned = judge(new_file("src/run", mode="100755"), tree(BASE), areas)
    assert (warned.change is not None, [each.constraint for each in warned.violations]) == (True, ["mode"])
    for diff, constraint in ((new_file("docs/x"), "allowed_areas"), (new_file("../x"), "path"), (b"no", "syntax")):
        refused = judge(diff, tree(BASE), areas)
        assert (refused.change, [each.constraint for each in refused.violations]) == (None, [constraint])


# --- change sets -------------------------------------------------------------------------------------------


def test_changes_in_a_row_are_one_change() -> None:
    base = tree(BASE)
    first = ChangeSet(
        files=(
            ChangedFile(path="src/a.py", before=b"1\n", after=b"2\n", old_mode="100644"),
            ChangedFile(path="new", before=None, after=b"n\n"),
            ChangedFile(path="README.md", before=b"1\n", after=None),
        )
    )
    between = base.after(first)
    assert (between.read("src/a.py"), between.read("docs/b.md"), "README.md" in between.modes) == (
        b"2\n",
        b"1\n",
        False,
    )
    second = ChangeSet(
        files=(
            ChangedFile(path="src/a.py", before=b"2\n", after=b"1\n", old_mode="100644"),
            ChangedFile(path="new", before=b"n\n", after=b"m\n", old_mode="100644"),
            ChangedFile(path="README.md", before=None, after=b"again\n"),
        )
    )
    whole = first.then(second)
    assert [(file.path, file.before, file.after) for file in whole.files] == [
        ("new", None, b"m\n"),
        ("README.md", b"1\n", b"again\n"),
    ]
    assert wrong(whole) == []
    assert base.after(whole).modes == between.after(second).modes


def test_an_undone_change_is_none() -> None:
    made = edit("new")
    assert made.then(ChangeSet(files=(ChangedFile(path="new", before=b"2\n", after=None),))).files == ()


def test_a_path_is_in_a_change_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        edit("x", "x")


def test_lines_are_counted_on_both_sides() -> None:
    assert ChangedFile(path="x", before=b"a\nb\nc\n", after=b"a\nB\nc\nd\n").lines == 3
    assert ChangedFile(path="x", before=None, after=b"a\nb\n").lines == 2
    assert ChangedFile(path="x", before=b"a", after=b"a\n").lines == 1
