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
