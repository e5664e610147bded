"""Finds files that are meant for Forge and that it does not read, because their name is another one."""

import re
from collections.abc import Mapping

from domain.config.configuration import Configuration
from domain.github.checks import Annotation
from domain.review.review import Conclusion
from domain.runs.run import RepositoryRef
from messages import config as texts
from pipeline.config.check import ConfigCheck
from pipeline.config.loading import FileHost
from pipeline.config.parsing import PATH, LoadedConfiguration, Source
from pipeline.config.yaml import read_yaml

LIKELIEST = ".github/forge.yaml"
_NEAR = re.compile(r"(?:\.github/)?\.?forge\.ya?ml", re.IGNORECASE)


def is_misplaced(path: str) -> bool:
    """Whether a file's name nearly is the one that Forge reads."""
    return path != PATH and _NEAR.fullmatch(path) is not None


def check_misplaced(at_head: Mapping[str, bytes]) -> list[ConfigCheck]:
    """A word about each file of a pull request that Forge would not read.

    :param at_head: what it adds or changes. Other tools may have a file of such a name, too, so it counts only with a
        section of Forge's.
    """
    return [
        ConfigCheck(Conclusion.neutral, texts.render_misplaced(path), (_annotate(path),))
        for path, content in sorted(at_head.items())
        if is_misplaced(path) and _is_ours(content)
    ]


async def find_misplaced(host: FileHost, repository: RepositoryRef, loaded: LoadedConfiguration) -> str | None:
    """What to say of a file on the default branch that is not read; None if there is none, or another one that is."""
    if loaded.source in {Source.repository, Source.last_valid} or loaded.problem is not None:
        return None
    content = await host.file_content(repository, LIKELIEST)
    return texts.explain_misplaced(LIKELIEST) if content is not None and _is_ours(content) else None


def _is_ours(content: bytes) -> bool:
    return any(len(place) == 1 and place[0] in Configuration.model_fields for place in read_yaml(content).keys)


def _annotate(path: str) -> Annotation:
    return Annotation(
        path=path,
        start_line=1,
        end_line=1,
        level="warning",
        title="Not read",
        message=texts.explain_misplaced(path),
    )
