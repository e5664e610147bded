"""Reads the App's manifest, ``app.yml``: what Forge asks GitHub for."""

from pathlib import Path

from ruamel.yaml import YAML

_MANIFEST = Path(__file__).parents[1] / "app.yml"  # in a checkout and in the wheel alike


def load_permissions() -> dict[str, str]:
    """The permissions (name → level) that the manifest asks for."""
    manifest = YAML(typ="safe").load(_MANIFEST.read_text(encoding="utf-8"))  # pyright: ignore[reportUnknownMemberType]
    return manifest["default_permissions"]
