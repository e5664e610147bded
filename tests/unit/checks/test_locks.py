"""What moved in a lock file, and what is suspicious about that."""

import json
from urllib.parse import quote

import pytest
from inline_snapshot import snapshot

from agents.review.checks.locks.check import ComparedLocks
from agents.review.checks.locks.comparison import compare
from agents.review.checks.locks.entries import UnreadableLock, holds_credential, is_python_archive
from agents.review.checks.locks.formats import read_entries
from domain.review.findings import Severity
from messages.review_details import render_details, render_locks
from tests.rendering import find_active, to_visible_text
from tests.unit.checks.lock_files import (
    BERRY,
    CARGO,
    CJS,
    COMPOSER,
    EVIL,
    GEMFILE,
    GIT_COMMIT,
    NPM,
    NUGET,
    PIPFILE,
    PNPM,
    POETRY,
    REGISTRY,
    UV,
    YARN,
    alter,
    install,
    npm,
    npm_package,
)
from tests.unit.safety.reviews import build_review

GO = "example.org/left v1.0.0 h1:aa=\nexample.org/left v1.0.0/go.mod h1:bb=\n"
BESIDE = COMPOSER.replace(
    '"packages": [', '"packages": [{"name": "a/right", "version": "9.0.0", "dist": {"type": "zip"}},'
)
REQUIREMENTS = f"--index-url {REGISTRY}/simple\nleft==1.0.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"

UPDATES = [
    install(npm_package("1.1.0", value="b")),
    alter(CARGO, ("1.0.0", "1.1.0"), ('"aa"', '"bb"')),
    alter(
        YARN,
        ("1.0.0.tgz", "1.1.0.tgz"),
        ('version "1.0.0"', 'version "1.1.0"'),
        ("a" * 40, "b" * 40),
        ("sha512-a", "sha512-b"),
    ),
    alter(BERRY, ("version: 1.0.0", "version: 1.1.0"), ("npm:1.0.0", "npm:1.1.0"), ("10c0/aa", "10c0/bb")),
    alter(PNPM, ("left@1.0.0", "left@1.1.0"), ("version: 1.0.0", "version: 1.1.0"), ("sha512-a", "sha512-c")),
    ("go.sum", GO, GO + "example.org/left v1.1.0 h1:cc=\nexample.org/left v1.1.0/go.mod h1:dd=\n"),
    alter(POETRY, ("1.0.0", "1.1.0"), (":aa", ":cc"), (":bb", ":dd")),
    alter(UV, ("1.0.0", "1.1.0"), (":aa", ":cc"), (":bb", ":dd")),
    alter(PIPFILE, ("1.0.0", "1.1.0"), (":aa", ":cc")),
    alter(COMPOSER, ("1.0.0", "1.1.0"), ('"aa"', '"cc"'), ("zip/aa", "zip/cc")),
    alter(GEMFILE, ("1.0.0", "1.1.0"), ("=aa", "=cc")),
    alter(NUGET, ("1.0.0", "1.1.0"), ("aa==", "cc==")),
]


def add_old(text: str, version: str, value: str) -> str:
    """With the section from which older versions of npm install."""
    old = {"left": npm_package(version, value=value), "right": npm_package(value="r")}
    return json.dumps(json.loads(text) | {"dependencies": old}, indent=2)


UPDATES.extend(
    [
        ("package-lock.json", add_old(NPM, "1.0.0", "a"), add_old(UPDATES[0][2], "1.1.0", "b")),
        (
            "package-lock.json",
            NPM.replace("example/left-1.0.0", "example/download/left/1.0.0/left-1.0.0", 1),
            UPDATES[0][2].replace("example/left-1.1.0", "example/download/left/1.1.0/left-1.1.0"),
        ),
        ("composer.lock", BESIDE, BESIDE.replace("9.0.0", "1.1.0").replace("1.0.x", "1.1.x")),
        ("requirements.txt", "# Pins.\nleft==1.0.0\n", "# All pins.\nleft==1.1.0\n"),
        ("package-lock.json", NPM, UPDATES[0][2].replace(f"{REGISTRY}/left-1.1", f"{REGISTRY}:443/left-1.1")),
        ("package-lock.json", NPM.replace("sha512-a", "sha1-a"), UPDATES[0][2]),
    ]
)


@pytest.mark.parametrize(("path", "base", "head"), UPDATES, ids=lambda each: each[:18])
def test_an_update_is_no_finding(path: str, base: str, head: str) -> None:
    found = compare(path, base, head)
    assert (found.faults, found.is_read) == ((), True)
    assert {version for _, version in found.added} == {"1.1.0"}
    assert {version for _, version in found.removed} <= {"1.0.0", "9.0.0"}


SUSPICIOUS = [
    (*install(npm_package(host=EVIL, value="x")), {"hash-changed error", "other-host error mirror.evil.example"}),
    (
        *install(npm_package(host="https://user:tok3n@registry.example")),
        {"credential-in-address error registry.example"},
    ),
    (
        "package-lock.json",
        NPM,
        NPM.replace(
            f'"{REGISTRY}/left-1.0.0.tgz",\n      "integrity": "sha512-a="',
            '"http://registry.example/left-1.0.0.tgz"',
            1,
        ),
        {"no-encryption error registry.example", "hash-missing error"},
    ),
    (*install(npm_package(value="x", hasInstallScript=True)), {"hash-changed error", "runs-scripts error"}),
    (*install({"version": "1.0.0"}), {"hash-missing warning"}),
    (*install(npm_package("1.1.0", EVIL)), {"other-host warning mirror.evil.example"}),
    (
        *install({"version": "1.0.0", "resolved": f"git+ssh://git@registry.example/e/left.git#{GIT_COMMIT}"}),
        {"other-source error git"},
    ),
    (
        *alter(
            CARGO,
            (
                'source = "registry+https://index.example/crates"\nchecksum = "aa"',
                f'source = "git+https://index.example/evil#{GIT_COMMIT}"',
            ),
        ),
        {"other-source error git"},
    ),
    (*alter(CARGO, ('"aa"', '"bb"')), {"hash-changed error"}),
    (
        *alter(YARN, (REGISTRY, EVIL), ("sha512-a", "sha512-b"), ("a" * 40, "b" * 40)),
        {"hash-changed error", "other-host error mirror.evil.example"},
    ),
    (*alter(BERRY, ("10c0/aa", "10c0/bb")), {"hash-changed error"}),
    (
        *alter(PNPM, ("sha512-a=}", f"sha512-x=, tarball: {EVIL}/left.tgz}}")),
        {"hash-changed error", "other-host error mirror.evil.example", "other-source error url"},
    ),
    ("go.sum", GO, GO.replace("h1:aa", "h1:xx"), {"hash-changed error"}),
    ("go.sum", GO, GO.replace("h1:bb", "h1:xx"), {"hash-changed error"}),
    (*alter(POETRY, (":aa", ":xx"), (":bb", ":yy")), {"hash-changed error"}),
    (
        *alter(POETRY, ("files = [", 'source = {type = "url", url = "http://evil.example/left.whl"}\nfiles = [')),
        {"no-encryption error evil.example", "other-source error url"},
    ),
    (
        *alter(UV, ("files.example", "evil.example"), (":aa", ":xx"), (":bb", ":yy")),
        {"hash-changed error", "other-host error evil.example"},
    ),
    (*alter(PIPFILE, ("https://index", "http://index")), {"no-encryption error index.example"}),
    (
        *alter(COMPOSER, ('"aa"', '"xx"'), ("code.example", "evil.example")),
        {"hash-changed error", "other-host error evil.example"},
    ),
    (*alter(GEMFILE, ("=aa", "=xx")), {"hash-changed error"}),
    (*alter(NUGET, ("aa==", "xx==")), {"hash-changed error"}),
    (
        "requirements.txt",
        REQUIREMENTS,
        REQUIREMENTS.replace(":aa", ":xx").replace(":bb", ":yy"),
        {"hash-changed error"},
    ),
    (
        "requirements.txt",
        REQUIREMENTS,
        REQUIREMENTS.replace("https://registry", "http://me:tok3n@registry"),
        {"credential-in-address error registry.example", "no-encryption error registry.example"},
    ),
]


FOREIGN_NPM = f"{REGISTRY}/evil/-/evil-9.0.0.tgz"
ARCHIVE = f"__archiveUrl={quote(EVIL, safe='')}%2Fleft-1.0.0.tgz"
SUSPICIOUS.extend(
    [
        # Another package of the same registry under this name.
        (*install(npm_package("1.0.1", value="x") | {"resolved": FOREIGN_NPM}), {"other-source warning url"}),
        (
            *install(npm_package() | {"resolved": FOREIGN_NPM, "integrity": "sha1-x"}),
            {"hash-changed error", "other-source error url"},
        ),
        (*alter(NPM, ("sha512-a=", "sha1-x")), {"hash-changed error"}),
        (*alter(NPM, ("sha512-a=", "sha512-a= sha512-x=")), {"hash-changed error"}),
        (
            *alter(
                YARN,
                ("@a/left/-/left-1.0.0.tgz", "evil/-/evil-9.0.0.tgz"),
                ('version "1.0.0"', 'version "1.0.1"'),
                ("a" * 40, "b" * 40),
                ("sha512-a", "sha512-x"),
            ),
            {"other-source warning url"},
        ),
        (
            *alter(BERRY, ('"left@npm:1.0.0"', f'"left@npm:1.0.0::{ARCHIVE}"'), ("10c0/aa", "10c0/xx")),
            {"hash-changed error", "other-host error mirror.evil.example"},
        ),
        (
            *alter(PNPM, ("left@1.0.0", "left@1.0.1"), ("sha512-a=}", f"sha512-x=, tarball: {EVIL}/left-1.0.1.tgz}}")),
            {"other-host warning mirror.evil.example"},
        ),
        (
            *alter(
                POETRY,
                ("1.0.0", "1.0.1"),
                ("files = [", f'source = {{type = "legacy", url = "{EVIL}/simple", reference = "x"}}\nfiles = ['),
                (":aa", ":xx"),
                (":bb", ":yy"),
            ),
            {"other-host warning mirror.evil.example"},
        ),
        (
            *alter(UV, ('version = "1.0.0"', 'version = "1.0.1"'), ("left-1.0.0", "evil-9.0.0"), (":aa", ":xx")),
            {"other-source warning url"},
        ),
        (
            *alter(CARGO, ("example/crates", "example/evil"), ('"1.0.0"', '"1.0.1"'), ('"aa"', '"xx"')),
            {"other-host warning index.example/evil"},
        ),
        (*alter(COMPOSER, ("/a/left/zip", "/evil/left/zip")), {"other-host error code.example/evil/left/zip/"}),
        (
            *alter(
                PIPFILE, ('"verify_ssl": true\n', f'"verify_ssl": true\n}}, {{"name": "x", "url": "{EVIL}/simple"\n')
            ),
            {"other-index warning mirror.evil.example"},
        ),
        (
            "requirements.txt",
            "left==1.0.0\n",
            f"--extra-index-url {EVIL}/simple\nleft==1.0.1\n",
            {"other-index warning mirror.evil.example"},
        ),
        (
            "requirements.txt",
            "left==1.0.0\n",
            f"left==1.0.1\nevil @ {EVIL}/evil-1-py3-none-any.whl\n",
            {"other-host warning mirror.evil.example"},
        ),
        (
            "requirements.txt",
            "left==1.0.0\n",
            f"left @ git+{EVIL}/left.git@v1\n",
            {"other-host warning mirror.evil.example", "other-source warning git"},
        ),
    ]
)


@pytest.mark.parametrize(("path", "base", "head", "expected"), SUSPICIOUS)
def test_what_is_suspicious_is_found(path: str, base: str, head: str, expected: set[str]) -> None:
    found = compare(path, base, head)
    assert {f"{each.rule} {each.severity.value} {each.subject}".strip() for each in found.faults} == expected
    lines = head.split("\n")
    for each in found.faults:
        if each.packages[0]:
            assert each.line is not None
            name = each.packages[0].split(" ")[0]
            assert name in "\n".join(lines[max(0, each.line - 10) : each.line + 4])


NAMED = f"{REGISTRY}/npm/left/-/left-1.0.0.tgz"
AT_NAME = {
    "package-lock.json": npm(left=npm_package() | {"resolved": NAMED}),
    "yarn.lock": f'# yarn lockfile v1\n\n\nleft@^1:\n  version "1.0.0"\n  resolved "{NAMED}"\n  integrity sha512-a=\n',
    "pnpm-lock.yaml": PNPM.replace("sha512-a=}", f"sha512-a=, tarball: {NAMED}}}"),
}


@pytest.mark.parametrize("path", AT_NAME)
@pytest.mark.parametrize(
    ("place", "suspicious"),
    [
        ("npm/left/-/left-1.1.0.tgz", None),
        ("npm/left/-/@scope/left-1.1.0.tgz", "other-source warning url"),
        ("npm/@evil/left/-/left-1.1.0.tgz", "other-host warning registry.example/npm/@evil/"),
        ("npm/evil/-/left-1.1.0.tgz", "other-source warning url"),
        ("left/-/left-1.1.0.tgz", "other-host warning registry.example/"),
        ("npm/left/-/../../evil/-/left-1.1.0.tgz", "other-source warning url"),
        ("npm/left/-/%2e%2E/%2e%2e/evil/-/left-1.1.0.tgz", "other-source warning url"),
        ("npm/evil/../left/-/left-1.1.0.tgz", "other-source warning url"),
        ("npm/Left/-/Left-1.1.0.tgz", "other-source warning url"),
    ],
)
def test_an_archive_is_that_of_the_package(path: str, place: str, suspicious: str | None) -> None:
    """Anybody may publish ``@evil/left``, whose archive is called like that of ``left``."""
    base = AT_NAME[path]
    head = base.replace(NAMED, f"{REGISTRY}/{place}").replace("1.0.0", "1.1.0").replace("sha512-a", "sha512-x")
    found = compare(path, base, head)
    told = [f"{each.rule} {each.severity.value} {each.subject}" for each in found.faults]
    assert told == ([] if suspicious is None else [suspicious])


@pytest.mark.parametrize(
    ("file", "is_left"),
    [
        ("left-1.1.0.tar.gz", True),
        ("Left-1.1-1-py2.py3-none-any.whl", True),
        ("left-1.1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("left-01.1.zip", True),
        ("left_evil-1.1.0-py3-none-any.whl", False),
        ("left-evil-1.1.0.tar.gz", False),
        ("left-1.2.0-py3-none-any.whl", False),
        ("left-1.1.0rc1.tar.gz", False),
        ("left-1.1.0.exe", False),
        ("left-1.1.0-evil.tar.gz", False),
    ],
)
def test_an_archive_of_python_is_that_of_the_package(file: str, is_left: bool) -> None:
    head = UV.replace('version = "1.0.0"', 'version = "1.1.0"').replace("left-1.0.0.tar.gz", file)
    head = head.replace("left-1.0.0-py3", "left-1.1.0-py3").replace(":aa", ":cc").replace(":bb", ":dd")
    assert [each.rule for each in compare("uv.lock", UV, head).faults] == ([] if is_left else ["other-source"])


@pytest.mark.parametrize(
    ("patched", "kept", "told"),
    [
        (True, True, {"left": Severity.warning}),
        (True, False, {"left": Severity.warning, "right": Severity.warning}),
        (False, True, {"left": Severity.error, "right": Severity.error}),
    ],
)
def test_what_a_patched_package_brings_from_its_repository_is_no_replacement(
    patched: bool, kept: bool, told: dict[str, Severity]
) -> None:
    """Cargo writes a second copy of each package of the repository that the patched one needs."""
    source = f"git+https://github.com/o/left#{GIT_COMMIT}"
    left, right = (f'[[package]]\nname = "{name}"\nversion = "1.0.0"\n' for name in ("left", "right"))
    registry = 'source = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "aa"\n\n'
    base = f"version = 3\n\n{left}{registry}{right}{registry}"
    git = f'source = "{source}"\n\n'
    head = f"version = 3\n\n{left}{git}{right}{registry if kept else ''}{right if kept else ''}{git}"
    patch = '[patch.crates-io]\nleft = { git = "https://github.com/o/left" }\n' if patched else ""
    manifest = f'[package]\nname = "a"\n\n[dependencies]\nleft = "1"\n{patch}'
    faults = compare("Cargo.lock", base, head, {"Cargo.toml": manifest}).faults
    found = {name.split()[0]: each.severity for each in faults if each.rule == "other-source" for name in each.packages}
    assert found == told


@pytest.mark.parametrize(
    ("version", "file"),
    [
        ("2024.07.04", "left-2024.7.4-py3-none-any.whl"),
        ("1.0rc1", "left-1.0.0-rc1.tar.gz"),
        ("1.0.post1", "left-1.0.rev1.tar.gz"),
        ("2.1.0+cu118", "left-2.1.0%2Bcu118-cp311-cp311-linux_x86_64.whl"),
    ],
)
def test_a_version_of_python_has_many_spellings(version: str, file: str) -> None:
    assert is_python_archive(f"https://files.example/aa/{file}#sha256=aa", "left", version)


HONEST = [
    # Another package under a name of its own, as a package asks for it.
    (
        "package-lock.json",
        NPM,
        npm(
            left=npm_package("1.1.0", dependencies={"right-cjs": "npm:right@^1"}), right=npm_package(value="r")
        ).replace('"node_modules/right"', f'"node_modules/right-cjs": {json.dumps(CJS)}, "node_modules/right"'),
    ),
    # The archive of another package brings it along.
    (
        "package-lock.json",
        npm(**{"right": npm_package(), "right/node_modules/left": npm_package()}),
        npm(**{"right": npm_package(), "right/node_modules/left": {"version": "1.0.0", "inBundle": True}}),
    ),
    ("pip.conf", f"[global]\nindex-url = {REGISTRY}/simple\n", f"[install]\nindex_url: {REGISTRY}/simple\n"),
    # A move to another registry, where every hash stays: whatever serves it serves the same.
    alter(NPM, (REGISTRY, "https://mirror.example")),
    alter(YARN, (REGISTRY, "https://mirror.example")),
    alter(UV, ("files.example", "mirror.example")),
    # More files of a version were published, or fewer are listed.
    alter(POETRY, ('hash = "sha256:aa"},', 'hash = "sha256:aa"},\n    {file = "b.whl", hash = "sha256:ee"},')),
    alter(UV, ("py3-none-any.whl", "cp312-abi3-linux.whl"), ("sha256:bb", "sha256:ee")),
    # A stronger algorithm, and the cache's own.
    ("package-lock.json", NPM.replace("sha512-a=", "sha1-q="), NPM),
    alter(BERRY, ("10c0", "11")),
    ("package-lock.json", NPM.replace("sha512-a=", "sha1-q=").replace("https:", "http:"), NPM),
    # A script that was there, only not noted.
    install(npm_package(hasInstallScript=True)),
    ("package-lock.json", NPM, "{"),
    ("package-lock.json", None, NPM),
    ("package-lock.json", NPM, NPM + "\n"),
]


@pytest.mark.parametrize(("path", "base", "head"), HONEST)
def test_what_is_only_unusual_is_no_finding(path: str, base: str | None, head: str) -> None:
    assert compare(path, base, head).faults == ()


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("/left_one/1.0.0", "left_one"),
        ("/left_one/1.0.0_peer@2.0.0", "left_one"),
        ("/@a_b/left_one/1.0.0_@b_c+peer@2.0.0", "@a_b/left_one"),
        ("/left_one@1.0.0(peer_x@2.0.0)", "left_one"),
        ("'@a_b/left_one@1.0.0'", "@a_b/left_one"),
    ],
)
def test_names_and_peers_of_pnpm(key: str, name: str) -> None:
    """A name may have an underscore, which begins the peers of a version elsewhere."""
    lock = "lockfileVersion: '5.4'\n\npackages:\n\n  {0}:\n    resolution: {{integrity: sha512-a=}}\n"
    other = f"{lock.format(key)}\n  /left/1.0.0:\n    resolution: {{integrity: sha512-b=}}\n"
    assert [(each.name, each.version) for each in read_entries("pnpm-lock.yaml", lock.format(key))] == [(name, "1.0.0")]
    assert compare("pnpm-lock.yaml", lock.format(key), other).faults == ()


def test_an_entry_of_pnpm_has_the_last_word_about_its_version() -> None:
    head = PNPM.replace("    engines", "    version: 6.6.6\n    engines")
    found = compare("pnpm-lock.yaml", PNPM, head)
    assert (found.added, found.removed) == ((("left", "6.6.6"),), (("left", "1.0.0"),))


OLD_SECTION = {"dependencies": {"left": npm_package("9.0.0", value="x"), "right": npm_package(value="r")}}


def test_both_sections_of_a_lock_file_count() -> None:
    """Older versions of npm install from the second."""
    found = compare("package-lock.json", NPM, json.dumps(json.loads(NPM) | OLD_SECTION))
    assert ("left", "9.0.0") in found.added


def tell(base: str | None, head: str, path: str = "package-lock.json") -> str:
    return render_locks(ComparedLocks([path], {path: compare(path, base, head)}).list_changes())


def test_a_line_tells_what_nobody_reads() -> None:
    moved = npm(left=npm_package("1.1.0"), more=npm_package(host="https://elsewhere.example"))
    assert to_visible_text(tell(NPM, moved)) == snapshot(
        "package-lock.json: left 1.0.0 → 1.1.0, more 1.0.0 is new, right 1.0.0 is gone. "
        "For the first time from elsewhere.example."
    )
    hashed = NPM.replace("sha512-a=", "sha512-b=")
    assert to_visible_text(tell(NPM, hashed)) == snapshot("package-lock.json: no pinned dependency changed.")
    assert to_visible_text(tell(None, NPM)) == snapshot("package-lock.json: new, with 2 packages.")
    many = npm(**{f"left-{number}": npm_package() for number in range(9)})
    assert "`left-5` 1\\.0.0 is new and 3 more." in tell(npm(), many)
    assert tell(NPM, "no lock file") == ""


def test_names_of_others_are_shown_and_do_nothing() -> None:
    told = tell(NPM, npm(**{"@user `x` #1 <b>": npm_package("@org/team")}))
    assert find_active(told, ["strong_open", "strong_close"]) == []


@pytest.mark.parametrize(
    ("address", "holds"),
    [
        ("https://user:tok3n@a.example/x", True),
        ("git+https://ghx_abc@a.example/x.git", True),
        ("https://a.example/x?access_token=abc", True),
        ("git+ssh://git@a.example/x.git", False),
        ("git@a.example:x/y.git", False),
        ("https://a.example/x?checksum=abc", False),
        ("https://a.example/@scope/x", False),
    ],
)
def test_credentials_in_addresses(address: str, holds: bool) -> None:
    assert holds_credential(address) is holds


@pytest.mark.parametrize(
    "path",
    [
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "cargo.lock",
        "go.sum",
        "gemfile.lock",
        "composer.lock",
        "mix.lock",
    ],
)
@pytest.mark.parametrize("text", ["", "\0", "[" * 10_000, "{}", "a: b\n", "x = 1\n"])
def test_what_is_no_lock_file_is_said(path: str, text: str) -> None:
    if (path, text) != ("go.sum", ""):
        with pytest.raises(UnreadableLock):
            read_entries(path, text)


GIT_LOCK = '{{"lockfileVersion": 3, "packages": {{"node_modules/b": {{"version": "1.0.0", "resolved": "{}"}}}}}}'


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        ("git+ssh://git@github.com/good/b.git#aaa", "git+ssh://git@github.com/evil/b.git#bbb", ["other-repository"]),
        ("git+ssh://git@github.com/good/b.git#aaa", "git+ssh://git@github.com/good/b.git#bbb", []),
        ("git+ssh://git@github.com/good/b.git#aaa", "git+ssh://git@github.com/Good/b#aaa", []),
    ],
)
def test_a_repository_on_the_same_host_may_be_another_one(base: str, head: str, told: list[str]) -> None:
    found = compare("package-lock.json", GIT_LOCK.format(base), GIT_LOCK.format(head))
    assert [each.rule for each in found.faults] == told


@pytest.mark.parametrize("option", ["-i", "-i ", "--extra-index=", "--index-url ", "-r ", "-c ", "-f "])
def test_every_option_of_pip_that_names_an_address_is_a_place_of_packages(option: str) -> None:
    found = compare("requirements.txt", "a==1\n", f"{option}https://evil.example/simple\na==1\n")
    assert [(each.rule, each.subject) for each in found.faults] == [("other-index", "evil.example")]


def test_packages_are_named_as_the_lock_file_has_them() -> None:
    package = '[[package]]\nname = "clap_builder"\nversion = "{}"\nsource = "{}"\nchecksum = "{}"\n'
    place = "registry+https://github.com/rust-lang/crates.io-index"
    base, head = (f"version = 3\n\n{package.format(f'4.5.{at}', place, str(at) * 64)}" for at in (1, 2))
    found = compare("Cargo.lock", base, head)
    assert (found.removed, found.added) == ((("clap_builder", "4.5.1"),), (("clap_builder", "4.5.2"),))


def test_a_source_is_no_package_of_its_name() -> None:
    meta = {"sources": [{"name": "a", "url": "https://packages.example/simple"}]}
    base, head = ({"version": "==1", "hashes": ["sha256:aa"]}, {"version": "==1"})
    before, after = (json.dumps({"_meta": meta, "default": {"a": each}}) for each in (base, head))
    assert [each.rule for each in compare("Pipfile.lock", before, after).faults] == ["hash-missing"]


@pytest.mark.parametrize(
    ("files", "uncounted", "told"),
    [
        (5, 0, "<sub>5 files, +1 −0 ·"),
        (5, 1, "<sub>5 files, +1 −0 in 4 of them: no lock, generated or binary file counts ·"),
        (1, 1, "<sub>1 file ·"),
    ],
)
def test_whose_lines_are_counted_is_said(files: int, uncounted: int, told: str) -> None:
    review = build_review().model_copy(update={"files": files, "uncounted": uncounted})
    assert told in render_details(review)
