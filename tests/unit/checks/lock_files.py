"""Lock files that tests change, as their package managers write them."""

import json
from collections.abc import Mapping

REGISTRY = "https://registry.example"


def npm(**packages: Mapping[str, object]) -> str:
    there = {f"node_modules/{name}": {"version": "1.0.0", **entry} for name, entry in packages.items()}
    return json.dumps({"lockfileVersion": 3, "packages": {"": {"name": "app"}, **there}}, indent=2)


def npm_package(version: str = "1.0.0", host: str = REGISTRY, value: str = "a", **more: object) -> dict[str, object]:
    return {"version": version, "resolved": f"{host}/left-{version}.tgz", "integrity": f"sha512-{value}=", **more}


NPM = npm(left=npm_package(), right=npm_package(value="r"))
POETRY = """[[package]]
name = "left"
version = "1.0.0"
description = "Left."
optional = false
python-versions = "*"
files = [
    {file = "left-1.0.0-py3-none-any.whl", hash = "sha256:aa"},
    {file = "left-1.0.0.tar.gz", hash = "sha256:bb"},
]

[metadata]
lock-version = "2.0"
content-hash = "cc"
"""
UV = """version = 1

[[package]]
name = "left"
version = "1.0.0"
source = { registry = "https://index.example/simple" }
sdist = { url = "https://files.example/left-1.0.0.tar.gz", hash = "sha256:aa", size = 1 }
wheels = [
    { url = "https://files.example/left-1.0.0-py3-none-any.whl", hash = "sha256:bb", size = 1 },
]
"""
CJS = {"name": "right", "version": "1.0.0", "resolved": f"{REGISTRY}/right-1.0.0.tgz", "integrity": "sha512-r="}
EVIL = "https://mirror.evil.example"
CARGO = """version = 3

[[package]]
name = "left"
version = "1.0.0"
source = "registry+https://index.example/crates"
checksum = "aa"

[[package]]
name = "app"
version = "0.1.0"
"""
YARN = f"""# yarn lockfile v1


"@a/left@^1.0.0", "@a/left@^1":
  version "1.0.0"
  resolved "{REGISTRY}/@a/left/-/left-1.0.0.tgz#{"a" * 40}"
  integrity sha512-a=
"""
BERRY = """__metadata:
  version: 8
  cacheKey: 10c0

"left@npm:^1.0.0":
  version: 1.0.0
  resolution: "left@npm:1.0.0"
  checksum: 10c0/aa
  languageName: node
  linkType: hard

"app@workspace:.":
  version: 0.0.0-use.local
  resolution: "app@workspace:."
  languageName: unknown
  linkType: soft
"""
PNPM = """lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      left:
        specifier: ^1.0.0
        version: 1.0.0

packages:

  left@1.0.0:
    resolution: {integrity: sha512-a=}
    engines: {node: '>=6'}

  '@a/right@2.0.0':
    resolution: {integrity: sha512-b=}

snapshots:

  left@1.0.0: {}
"""
GIT_COMMIT = "c" * 40
PIPFILE = json.dumps(
    {
        "_meta": {"sources": [{"name": "main", "url": "https://index.example/simple", "verify_ssl": True}]},
        "default": {"left": {"version": "==1.0.0", "hashes": ["sha256:aa"], "index": "main"}},
        "develop": {},
    },
    indent=4,
)
COMPOSER = json.dumps(
    {
        "packages": [
            {
                "name": "a/left",
                "version": "v1.0.0",
                "source": {"type": "git", "url": "https://code.example/a/left.git", "reference": "aa"},
                "dist": {"type": "zip", "url": "https://code.example/a/left/zip/aa", "reference": "aa", "shasum": ""},
                "type": "library",
                "autoload": {"files": ["a.php"]},
                "extra": {"branch-alias": {"dev-main": "1.0.x-dev"}},
            }
        ],
        "packages-dev": [],
    },
    indent=4,
)
GEMFILE = """GEM
  remote: https://gems.example/
  specs:
    left (1.0.0)
      right (~> 2)
    right (2.0.0-x86_64-linux)

PLATFORMS
  ruby

DEPENDENCIES
  left

CHECKSUMS
  left (1.0.0) sha256=aa
  right (2.0.0-x86_64-linux) sha256=bb
"""
NUGET = json.dumps(
    {
        "version": 1,
        "dependencies": {"net8.0": {"Left": {"type": "Direct", "resolved": "1.0.0", "contentHash": "aa=="}}},
    },
    indent=2,
)
PATHS = {
    NPM: "package-lock.json",
    YARN: "yarn.lock",
    BERRY: "yarn.lock",
    PNPM: "pnpm-lock.yaml",
    POETRY: "poetry.lock",
    UV: "uv.lock",
    CARGO: "Cargo.lock",
    PIPFILE: "Pipfile.lock",
    COMPOSER: "composer.lock",
    GEMFILE: "Gemfile.lock",
    NUGET: "packages.lock.json",
}
Change = tuple[str, str, str]


def alter(lock: str, *replaced: tuple[str, str]) -> Change:
    """Where one of these files lies, what is in it, and what is in it with some text in place of other."""
    head = lock
    for old, new in replaced:
        assert old in head, old
        head = head.replace(old, new)
    return PATHS[lock], lock, head


def install(left: Mapping[str, object]) -> Change:
    """The same for that of npm, with another entry for one package."""
    return PATHS[NPM], NPM, npm(left=left, right=npm_package(value="r"))
