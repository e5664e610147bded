"""Reads a repository's ``.github/forge.yml`` from its default branch."""

import io
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from domain.configuration import Configuration
from domain.ports import CodeHost
from domain.runs import RepositoryRef

PATH = ".github/forge.yml"
_LARGEST = 64 * 1024  # bytes
_YAML: Any = YAML(typ="safe", pure=True)  # untyped


@dataclass(frozen=True)
class Loaded:
    """The configuration that holds, and what is wrong with the file if it had to be put aside."""

    configuration: Configuration
    problem: str | None = None


async def load(host: CodeHost, repository: RepositoryRef) -> Loaded:
    """The configuration on the default branch; the defaults where there is none or it is broken.

    :raises CodeHostError: if GitHub cannot be asked. A missing answer is never taken for a missing file.
    """
    content = await host.file_content(repository, PATH)
    return Loaded(Configuration()) if content is None else parse(content)


def parse(content: bytes) -> Loaded:
    """The configuration in a file's content, or the defaults and one sentence on the first mistake."""
    if len(content) > _LARGEST:
        return _broken(f"it is larger than {_LARGEST // 1024} KB")
    try:
        document = _YAML.load(io.BytesIO(content))
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        return _broken(f"line {mark.line + 1} is not valid YAML" if mark is not None else "it is not valid YAML")
    if document is None:
        return Loaded(Configuration())
    try:
        return Loaded(Configuration.model_validate(document))
    except ValidationError as error:
        first = error.errors()[0]
        return _broken(f"`{'.'.join(str(part) for part in first['loc'])}`: {first['msg']}")


def _broken(what: str) -> Loaded:
    return Loaded(Configuration(), f"{PATH} on the default branch is not used, the defaults are: {what}.")
