"""Writes the pages of ``docs`` that are generated from the code, so that both agree.

``python -m bot.reference.pages docs`` writes them all; a test fails when one is out of date.
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import cast

from bot.reference import commands, conditions, protected, sample
from domain import globs
from domain.config import configuration
from domain.config.presets import PRESETS, Values, flatten
from pipeline.config.yaml import MAX_BYTES, MAX_DEPTH

_INTRODUCTION = f"""\
# Configuration

A repository is configured by `.github/forge.yml` on its default branch. Every key is optional; this is the whole file
at its defaults. `forge config check` finds mistakes before a push, the dashboard shows what applies and from where.

```yaml
# yaml-language-server: $schema=https://YOUR-HOST/schema/forge.yml.json
{sample.yaml()}```

The first line lets an editor complete and check the file: `YOUR-HOST` is Forge's server, or name a copy of
[forge.schema.json](forge.schema.json).

## Which values apply

- **A pull request** that changes the file gets the check `Forge / config`: mistakes on their lines, and what would
  change.
- **The organisation**: `.github/forge.yml` in the owner's repository `.github` is the default for all others. A
  repository's file wins key by key; lists are replaced whole. The operator's ceilings cap both.
- **A mistake** never stops Forge. The last valid version applies, and each review says so; if there never was one, the
  preset `conservative`. What the broken file forbids applies all the same: `review.never_send`, `paths.protected`,
  `review.model: never`, `review.dry_run: true`, `labels.run: null`, `issues.run: false`, `memory.enabled: false`.
- **A run** keeps what it began with, except for later prohibitions (`review.never_send`, `review.model`,
  `review.dry_run`, `paths.protected`, `memory.enabled`, fewer `execution.commands`, lower ceilings).
  `/forge resume` takes today's.
- **The format**: YAML 1.2 in UTF-8, up to {MAX_BYTES // 1024} KB and {MAX_DEPTH} levels; no anchors, merge keys or
  tags. `yes` and `no` are text. An unknown key is a mistake.

## Patterns of files

A pattern matches a whole path, case-sensitively. `*` stands for anything within a folder, `**` for any folders, `?` for
one character, `{{a,b}}` for either, `[abc]` or `[!a-z]` for one character. `secrets` is a file, `secrets/**` all in a
folder. There is no negation. Brackets also match as written (`app/[id]/page.tsx`); in `review.paths.exclude` only so,
unless they hold a range. Up to {globs.MOST} alternatives.

"""


def json_schema() -> str:
    """The JSON Schema as a file."""
    return json.dumps(configuration.build_schema(), indent=2, ensure_ascii=False) + "\n"


def markdown() -> str:
    """The whole page."""
    return _INTRODUCTION + _presets()


def write(folder: Path) -> None:
    """Write the pages."""
    (folder / "commands.md").write_text(commands.markdown(), encoding="utf-8")
    (folder / "protected.md").write_text(protected.markdown(), encoding="utf-8")
    (folder / "configuration.md").write_text(markdown(), encoding="utf-8")
    (folder / "forge.schema.json").write_text(json_schema(), encoding="utf-8")
    gates = folder / "gates.md"
    gates.write_text(conditions.put_names(gates.read_text(encoding="utf-8")), encoding="utf-8")


def _presets() -> str:
    """What each preset sets; a key that it does not set has its default."""
    said = [f"- `{preset}`: {_describe(values)}" for preset, values in PRESETS.items() if values]
    named = [textwrap.fill(each, 120, subsequent_indent="  ", break_on_hyphens=False) for each in said]
    return "\n".join(["## Presets", "", "`standard` is all defaults. The others set:", "", *named, ""])


def _describe(values: Values) -> str:
    numbers = [f"`{path}` {value}" for path, value in flatten(values).items() if not path.startswith("gates.")]
    gates = cast(dict[str, dict[str, str]], values.get("gates", {}))
    asked = [f"gate `{name}` in {gate['phase']} when `{gate['when']}`" for name, gate in gates.items()]
    return "; ".join([*numbers, *asked]) + "."


if __name__ == "__main__":
    write(Path(sys.argv[1]))
