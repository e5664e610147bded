"""A lock file may take from the repository, or from git, what was fetched elsewhere only if a manifest asks for it."""

import json

import pytest

from agents.review.checks.locks.comparison import compare
from agents.review.checks.locks.manifests import asks_at_run_time, list_new_requests
from domain.review.changes import LockChange, PackageMove
from messages.review_details import render_locks
from tests.unit.checks.lock_files import (
    BERRY,
    CARGO,
    COMPOSER,
    GEMFILE,
    GIT_COMMIT,
    NUGET,
    PIPFILE,
    PNPM,
    POETRY,
    UV,
    YARN,
    alter,
    install,
    npm_package,
)

SCRIPT = {"version": "1.0.0", "hasInstallScript": True}
RIGHT = npm_package(value="r")
REPOSITORY = "https://github.com/evil/left.git"
YARN_FIELDS = YARN[YARN.index("  version") :]
PATHS = GEMFILE.replace("    left (1.0.0)\n      right (~> 2)\n", "").replace("GEM\n", "{}\n\nGEM\n")
GEM = "  specs:\n    left (1.0.0)\n      right (~> 2)"
POETRY_SOURCE = "python-versions"
UV_SOURCE = '{ registry = "https://index.example/simple" }'
CARGO_SOURCE = 'source = "registry+https://index.example/crates"\nchecksum = "aa"'


def poetry(source: str) -> str:
    return POETRY.replace(POETRY_SOURCE, f"source = {{{source}}}\n{POETRY_SOURCE}")


def composer(dist: dict[str, str]) -> str:
    return json.dumps({"packages": [{"name": "a/left", "version": "v1.0.0", "dist": dist}], "packages-dev": []})


def pipfile(**entry: str) -> str:
    return json.dumps(json.loads(PIPFILE) | {"default": {"left": entry}})


LOCAL = [
    (
        *install({**SCRIPT, "resolved": "file:test/left.tgz"}),
        ("package.json", '{"dependencies": {"left": "file:./test/left.tgz"}}'),
    ),
    (*install({"resolved": "parts/left", "link": True}), ("package.json", '{"workspaces": ["./parts/*"]}')),
    (
        *install({"resolved": "parts/left", "link": True}),
        ("parts/app/package.json", '{"dependencies": {"left": "file:../left"}}'),
    ),
    (*install({"version": "1.0.0", "inBundle": True}), ("package.json", '{"bundleDependencies": ["left"]}')),
    (
        *alter(YARN, (YARN_FIELDS, '  version "1.0.0"\n  resolved "file:./test/left.tgz#aa"\n')),
        ("package.json", '{"resolutions": {"**/@a/left": "file:test/left.tgz"}}'),
    ),
    (
        *alter(YARN, (YARN_FIELDS, '  version "1.0.0"\n')),
        ("package.json", '{"dependencies": {"@a/left": "file:parts/left"}}'),
    ),
    (
        *alter(BERRY, ('"left@npm:1.0.0"', '"left@file:./test/left.tgz::hash=aa&locator=app%40workspace%3A."')),
        ("package.json", '{"dependencies": {"left": "file:./test/left.tgz"}}'),
    ),
    (
        *alter(BERRY, ('"left@npm:1.0.0"', '"left@workspace:parts/left"'), ("hard", "soft")),
        ("package.json", '{"workspaces": {"packages": ["parts/*"]}}'),
    ),
    (
        *alter(BERRY, ('"left@npm:1.0.0"', '"left@patch:left@npm%3A1.0.0#~/test/left.patch::version=1.0.0&hash=aa"')),
        ("package.json", '{"resolutions": {"left@^1": "patch:left@npm%3A1.0.0#~/test/left.patch"}}'),
    ),
    (
        *alter(PNPM, ("{integrity: sha512-a=}", "{directory: parts/left, type: directory}")),
        ("pnpm-workspace.yaml", "overrides:\n  left: file:parts/left\n"),
    ),
    (
        *alter(PNPM, ("{integrity: sha512-a=}", "{integrity: sha512-x=, tarball: file:test/left.tgz}")),
        ("package.json", '{"pnpm": {"overrides": {"right>left": "file:test/left.tgz"}}}'),
    ),
    (
        "poetry.lock",
        POETRY,
        poetry('type = "directory", url = "parts/left"'),
        ("pyproject.toml", '[tool.poetry.dependencies]\nleft = {path = "parts/left", develop = true}\n'),
    ),
    (
        "poetry.lock",
        POETRY,
        poetry('type = "file", url = "test/left.whl"'),
        ("pyproject.toml", '[tool.poetry.group.dev.dependencies.left]\npath = "./test/left.whl"\n'),
    ),
    (
        *alter(UV, (UV_SOURCE, '{ path = "test/left.whl" }')),
        ("pyproject.toml", '[tool.uv.sources]\nleft = [{ path = "test/left.whl", marker = "x" }]\n'),
    ),
    (
        *alter(UV, (UV_SOURCE, '{ editable = "parts/left" }')),
        ("pyproject.toml", "[tool.uv.sources]\nleft = { workspace = true }\n"),
    ),
    (
        *alter(UV, (UV_SOURCE, '{ directory = "parts/left" }')),
        ("pyproject.toml", '[project]\ndependencies = ["left[x] @ file:parts/left"]\n'),
    ),
    (*alter(CARGO, (CARGO_SOURCE, "")), ("left/Cargo.toml", '[package]\nname = "left"\n')),
    ("Pipfile.lock", PIPFILE, pipfile(path="./parts/left"), ("Pipfile", '[packages]\nleft = {path = "parts/left"}\n')),
    (
        "composer.lock",
        COMPOSER,
        composer({"type": "path", "url": "parts/left"}),
        ("composer.json", '{"repositories": [{"type": "path", "url": "parts/*"}]}'),
    ),
    (
        "Gemfile.lock",
        GEMFILE,
        PATHS.format(f"PATH\n  remote: parts/left\n{GEM}"),
        ("Gemfile", 'gem "left", path: "parts/left"\n'),
    ),
]
GIT = [
    (
        *install({**SCRIPT, "resolved": f"git+ssh://git@github.com/evil/left.git#{GIT_COMMIT}"}),
        ("package.json", '{"dependencies": {"left": "evil/left#main"}}'),
    ),
    (
        *alter(CARGO, (CARGO_SOURCE, f'source = "git+https://github.com/evil/left?branch=x#{GIT_COMMIT}"')),
        ("Cargo.toml", f'[patch.crates-io]\nleft = {{ git = "{REPOSITORY}" }}\n'),
    ),
    (
        *alter(YARN, (YARN_FIELDS, f'  version "1.0.0"\n  resolved "git+{REPOSITORY}#{GIT_COMMIT}"\n')),
        ("package.json", '{"dependencies": {"@a/left": "git@github.com:evil/left.git"}}'),
    ),
    (
        *alter(BERRY, ('"left@npm:1.0.0"', f'"left@{REPOSITORY}#commit={GIT_COMMIT}"')),
        ("package.json", f'{{"dependencies": {{"left": "{REPOSITORY}"}}}}'),
    ),
    (
        *alter(PNPM, ("{integrity: sha512-a=}", f"{{commit: {GIT_COMMIT}, repo: {REPOSITORY}, type: git}}")),
        ("package.json", '{"dependencies": {"left": "github:evil/left"}}'),
    ),
    (
        *alter(
            PNPM, ("{integrity: sha512-a=}", f"{{tarball: https://codeload.github.com/evil/left/tar.gz/{GIT_COMMIT}}}")
        ),
        ("package.json", '{"dependencies": {"left": "evil/left"}}'),
    ),
    (
        "poetry.lock",
        POETRY,
        poetry(f'type = "git", url = "{REPOSITORY}", reference = "x", resolved_reference = "{GIT_COMMIT}"'),
        ("pyproject.toml", f'[tool.poetry.dependencies]\nleft = {{git = "{REPOSITORY}"}}\n'),
    ),
    (
        "uv.lock",
        UV,
        UV[: UV.index("sdist")].replace(UV_SOURCE, f'{{ git = "{REPOSITORY}?rev=x#{GIT_COMMIT}" }}'),
        ("pyproject.toml", '[dependency-groups]\ndev = ["left @ git+https://github.com/evil/left@main"]\n'),
    ),
    (
        "Pipfile.lock",
        PIPFILE,
        pipfile(git=REPOSITORY, ref=GIT_COMMIT),
        ("Pipfile", f'[packages.left]\ngit = "{REPOSITORY}"\n'),
    ),
    (
        "Gemfile.lock",
        GEMFILE,
        PATHS.format(f"GIT\n  remote: {REPOSITORY}\n  revision: {GIT_COMMIT}\n{GEM}"),
        ("Gemfile", 'gem "left", github: "evil/left"\n'),
    ),
]


ROOTS = {
    "package-lock.json": {"package.json": '{"workspaces": ["parts/app"]}'},
    "Cargo.lock": {"Cargo.toml": '[workspace]\nmembers = ["left"]\n'},
}


def tell(path: str, base: str, head: str, manifests: dict[str, str]) -> set[str]:
    found = {f"{each.rule} {each.severity.value}" for each in compare(path, base, head, manifests).faults}
    return {each for each in found if not each.startswith("other-host")}


def list_unasked(head: str) -> set[str]:
    return {"other-source error", *(["runs-scripts error"] if "hasInstallScript" in head else [])}


@pytest.mark.parametrize(("path", "base", "head", "manifest"), LOCAL)
def test_what_comes_from_the_repository_itself_is_asked_for(
    path: str, base: str, head: str, manifest: tuple[str, str]
) -> None:
    unasked, root = list_unasked(head), ROOTS.get(path, {})
    assert tell(path, base, head, {}) == unasked
    assert tell(path, base, head, root | dict([manifest])) == set()
    other = manifest[1].replace("parts", "others").replace("test/", "tests/").replace("left", "lift")
    assert tell(path, base, head, root | {manifest[0]: other}) == unasked
    assert tell(path, base, head, root | {manifest[0]: "{"}) == unasked


@pytest.mark.parametrize(("path", "base", "head", "manifest"), GIT)
def test_what_comes_from_git_is_asked_for(path: str, base: str, head: str, manifest: tuple[str, str]) -> None:
    unasked = list_unasked(head)
    assert tell(path, base, head, {}) >= unasked
    assert "other-source warning" in tell(path, base, head, dict([manifest]))
    assert tell(path, base, head, {manifest[0]: manifest[1].replace("evil", "good")}) >= unasked


@pytest.mark.parametrize(
    ("path", "manifest"),
    [
        ("package.json", '{"dependencies": {"left": "^1.0.0"}}'),
        ("package.json", '{"dependencies": {"left": "file:parts/left"}}'),
        ("package.json", '{"dependencies": {"other": "file:test/left.tgz"}}'),
        ("package.json", '{"workspaces": ["*"], "files": ["test/*"]}'),
        ("package.json", '{"config": {"left": "file:test/left.tgz"}}'),
        ("package.json", '{"scripts": {"left": "file:test/left.tgz"}}'),
        ("examples/package.json", '{"dependencies": {"left": "file:../test/left.tgz"}}'),  # the lock file is not its
    ],
)
def test_a_manifest_asks_for_a_package_from_one_place(path: str, manifest: str) -> None:
    lock, base, head = install({"version": "1.0.0", "resolved": "file:test/left.tgz"})
    assert tell(lock, base, head, {path: manifest}) == {"other-source error"}


def test_what_the_lock_file_says_of_its_manifest_does_not_count() -> None:
    lock, base, head = install({"version": "1.0.0", "resolved": "file:test/left.tgz"})
    head = head.replace('"name": "app"', '"name": "app", "dependencies": {"left": "file:test/left.tgz"}')
    assert tell(lock, base, head, {}) == {"other-source error"}


@pytest.mark.parametrize(
    ("path", "base", "head"),
    [
        alter(NUGET, ('"Direct",\n        "resolved": "1.0.0"', '"Project"')),
        alter(
            BERRY, ('"left@npm:1.0.0"', '"left@patch:left@npm%3A1.0.0#optional!builtin<compat/left>::version=1.0.0"')
        ),
        ("uv.lock", UV.replace(UV_SOURCE, '{ editable = "a" }'), UV.replace(UV_SOURCE, '{ editable = "b" }')),
    ],
)
def test_what_no_lock_file_decides_is_no_finding(path: str, base: str, head: str) -> None:
    """Projects are those of NuGet's own files, and the patches of Yarn are Yarn's."""
    assert compare(path, base, head).faults == ()


PROJECT = '[project]\nname = "a"\ndependencies = [{}]\n\n[project.optional-dependencies]\nx = ["y"]\n'


@pytest.mark.parametrize(
    ("path", "base", "head", "new"),
    [
        ("pyproject.toml", PROJECT.format('"b>1"'), PROJECT.format('"B >2", "c[d] >= 3; os"'), [("c", ">= 3")]),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\npython = "^3"\n',
            '[tool.poetry.dependencies]\npython = "^4"\nb = "^1"\nc = {version = "2"}\n',
            [("b", "^1"), ("c", "2")],
        ),
        (
            "setup.cfg",
            "[options]\n",
            "[options]\ninstall_requires =\n    b>=1\n    c\nx = y\n",
            [("b", ">=1"), ("c", "")],
        ),
        (
            "setup.py",
            "setup(name='a')\n",
            "setup(\n  name='a', install_requires=['b>=3.0', \"c\"])\n",
            [("b", ">=3.0"), ("c", "")],
        ),
        (
            "package.json",
            '{"dependencies": {}}',
            '{"dependencies": {"b": "^1"}, "devDependencies": {"c": "1"}}',
            [("b", "^1")],
        ),
        ("composer.json", "{}", '{"require": {"php": "8", "ext-x": "*", "b/c": "^2"}}', [("b/c", "^2")]),
        ("Cargo.toml", "[dependencies]\n", '[dependencies]\nb = "1"\n\n[dev-dependencies]\nc = "1"\n', [("b", "1")]),
        (
            "go.mod",
            "module m\n\nrequire (\n\tb.org/b v1.0.0\n)\n",
            "module m\n\nrequire (\n\tb.org/b v1.1.0\n\tc.org/c v2.0.0\n\td.org/d v1.0.0 // indirect\n)\n",
            [("c.org/c", "v2.0.0")],
        ),
        ("a.gemspec", "", "s.add_dependency 'b', '~> 1'\ns.add_development_dependency 'c'\n", [("b", "~> 1")]),
        ("package.json", "{}", "{", []),
    ],
)
def test_what_a_manifest_newly_asks_for_at_run_time(
    path: str, base: str, head: str, new: list[tuple[str, str]]
) -> None:
    assert asks_at_run_time(path)
    assert [(each.name, *each.after) for each in list_new_requests(path, base, head)] == new


def test_it_is_told_in_a_line_where_no_lock_file_tells_it() -> None:
    moves = (PackageMove(name="b", after=(">=1",)), PackageMove(name="c", after=("",)))
    told = render_locks([LockChange(path="setup.py", count=2, moves=moves)])
    assert told == "**`setup.py`:** `b` &gt;=1 is new, `c` is new."
