"""Findings by name, the repository they are in, and who dismisses them."""

from domain.commands import Sender
from domain.review.findings import Category, Finding, Layer, Severity
from domain.runs.run import RepositoryRef

SHOP = RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop")
CAROL = Sender(id=7, login="carol")


def build_finding(name: str = "A", layer: Layer = Layer.model, path: str = "docs/a.py", **more: object) -> Finding:
    return Finding(
        id=f"F-{name}",
        rule="model/race",
        category=Category.correctness,
        severity=Severity.warning,
        confidence=0.9,
        path=path,
        line=3,
        message="A race.",
        layer=layer,
        fingerprint=name,
        trail="t",
        place=f"place of {name}",
    ).model_copy(update=more)
