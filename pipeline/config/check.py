"""Checks the configuration file of a pull request (``Forge / config``), and finds files under a wrong name."""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Literal, NamedTuple

from domain.config.configuration import ADDRESS, Configuration
from domain.config.presets import NOTHING, Values, apply_ceilings, build, flatten
from domain.config.values import Mistake
from domain.github.checks import Annotation
from domain.review.review import Conclusion
from domain.runs.run import RepositoryRef
from messages import config as config_texts
from messages import config as texts
from messages.review import CheckText
from pipeline.config.loading import FileHost
from pipeline.config.parsing import PATH, LoadedConfiguration, Source, parse
from pipeline.config.yaml import read_yaml

_NAMES_SCHEMA = b"yaml-language-server"  # in a file whose editor knows a schema


class ConfigCheck(NamedTuple):
    """What the check run shows."""

    conclusion: Conclusion
    text: CheckText
    annotations: tuple[Annotation, ...] = ()


def check_configuration(
    content_at_head: bytes | None,
    current: Configuration,
    below: Values = NOTHING,
    ceilings: Mapping[str, float] | None = None,
    public_url: str = "",
) -> ConfigCheck:
    """Whether a version of the file is valid, and what it would change.

    :param content_at_head: the file at the head of the pull request; None if it removes the file.
    :param current: the effective configuration.
    :param below: the values of the organisation's file (``LoadedConfiguration.below``).
    :param ceilings: as for ``pipeline.config.loading.load``.
    :param public_url: of this server, which shows the schema of the file; empty if it is not known.
    """
    hint = "" if content_at_head is None or _NAMES_SCHEMA in content_at_head else _name_schema(public_url)
    if content_at_head is None:
        return _report_valid(build(below), current, ceilings, removed=True, hint=hint)
    parsed = parse(content_at_head, below)
    if parsed.configuration is not None:
        return _report_valid(parsed.configuration, current, ceilings, parsed.idle, removed=False, hint=hint)
    annotations = tuple(_build_annotation(mistake, "failure") for mistake in parsed.mistakes)
    return ConfigCheck(Conclusion.failure, config_texts.render_broken(parsed.mistakes, hint), annotations)


def _report_valid(
    proposed: Configuration,
    current: Configuration,
    ceilings: Mapping[str, float] | None,
    idle: tuple[Mistake, ...] = (),
    *,
    removed: bool,
    hint: str,
) -> ConfigCheck:
    effective = apply_ceilings(proposed, ceilings or {})
    before, after = (flatten(one.model_dump(mode="json")) for one in (current, effective))
    notes = [config_texts.LINTERS_NEED_SANDBOX] if effective.review.linters else []
    notes += [config_texts.warn_without_effect(idle)] if idle else []
    notes += [hint] if hint else []
    changed = config_texts.list_changes(before, after)
    annotations = tuple(_build_annotation(one, "warning") for one in idle)
    return ConfigCheck(Conclusion.success, config_texts.render_valid(changed, removed, notes), annotations)


def _name_schema(public_url: str) -> str:
    """How an editor finds the schema; empty if this server has no address that is known."""
    return config_texts.name_schema(f"{public_url}{ADDRESS}") if public_url else ""


def _build_annotation(mistake: Mistake, level: Literal["warning", "failure"]) -> Annotation:
    return annotate(PATH, mistake.line, level, *config_texts.render_annotation(mistake))


def annotate(path: str, line: int, level: Literal["warning", "failure"], title: str, message: str) -> Annotation:
    """A word beside one line of a file."""
    return Annotation(path=path, start_line=line, end_line=line, level=level, title=title, message=message)


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
        ConfigCheck(
            Conclusion.neutral,
            texts.render_misplaced(path),
            (annotate(path, 1, "warning", "Not read", texts.explain_misplaced(path)),),
        )
        for path, content in sorted(at_head.items())
        if is_misplaced(path) and _is_ours(content)
    ]


def merge_checks(found: Sequence[ConfigCheck]) -> ConfigCheck:
    """The check of one file, or of several."""
    return reduce(_merge, found)


def _merge(one: ConfigCheck, other: ConfigCheck) -> ConfigCheck:
    conclusion = one.conclusion if one.conclusion is not Conclusion.success else other.conclusion
    return ConfigCheck(conclusion, texts.combine_checks(one.text, other.text), one.annotations + other.annotations)


async def find_misplaced(host: FileHost, repository: RepositoryRef, loaded: LoadedConfiguration) -> str | None:
    """What to say of a file on the default branch that is not read; None if there is none, or another one that is."""
    if loaded.source in {Source.repository, Source.last_valid} or loaded.problem is not None:
        return None
    content = await host.file_content(repository, LIKELIEST)
    return texts.explain_misplaced(LIKELIEST) if content is not None and _is_ours(content) else None


def _is_ours(content: bytes) -> bool:
    return any(len(place) == 1 and place[0] in Configuration.model_fields for place in read_yaml(content).keys)
