"""Configuration files for tests, and a host that has nothing but files."""

from collections.abc import Mapping

from domain.errors import CodeHostError
from domain.runs.run import RepositoryRef
from pipeline.config.parsing import PATH

SHOP = RepositoryRef(installation_id=7, id=42, owner="acme", name="shop")


class Files:
    """Answers with the configuration file of each repository; an error is raised."""

    def __init__(self, **files: str | bytes | CodeHostError | None) -> None:
        self.files: dict[str, str | bytes | CodeHostError | None] = dict(files)
        self.asked: list[tuple[str, str | None]] = []

    async def file_content(self, repository: RepositoryRef, path: str, ref: str | None = None) -> bytes | None:
        assert path == PATH
        self.asked.append((repository.full_name, ref))
        content = self.files.get(repository.name.strip("."))
        if isinstance(content, CodeHostError):
            raise content
        return content.encode() if isinstance(content, str) else content


def paths_of(values: Mapping[str, object], prefix: str = "") -> set[str]:
    """All dotted paths of nested mappings, those of the mappings included."""
    found: set[str] = set()
    for key, value in values.items():
        found.add(prefix + key)
        if isinstance(value, Mapping):
            inner: Mapping[str, object] = value
            found |= paths_of(inner, f"{prefix}{key}.")
    return found
