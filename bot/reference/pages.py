"""Writes the pages of ``docs`` that are generated from the code, so that both agree.

``python -m bot.reference.pages docs`` writes them all; a test fails when one is out of date.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from bot.reference import commands, conditions, protected
from domain import globs
from domain.config import schema
from domain.config.presets import PRESETS, flatten
from domain.config.schema import Schema
from domain.gates import STANDARD_GATES, StandardGate
from pipeline.config.yaml import MAX_BYTES, MAX_DEPTH

_SAMPLE = """\
review:   {on_pull_request: true, drafts: false, forks: first_time_needs_ok, paths: {include: ["**"], exclude: []}, \
linters: [], max_comments: 25, model: auto, unread: neutral, proof_seconds: 120, unshown: block, \
never_send: [], dry_run: false, bots: [dependabot],
  effort: standard, instructions: [
  "**/AGENTS.md", "**/CLAUDE.md", .github/copilot-instructions.md, ".github/instructions/**/*.instructions.md",
  "**/.cursor/rules/**/*.mdc", .cursorrules, "{,.github/,docs/}CONTRIBUTING.md"]}
commands: {setup: null, test: null, lint: null, typecheck: null, build: null, network: false}
preset:   standard
budgets:  {phase: {planning: 5, implementation: 10, review: 2, testing: 3, deployment: 2}, run: 50, day: 200}
breakers: {iteration: {}, time: {}, error_rate: {}}
guards:   {max_iterations: 10, max_runtime_minutes: 15, consecutive_errors: 3}
gates:    {}
ladder:   {max_level: 4, pinned: null}
paths:    {protected: [], sensitive: [], rules: []}
labels:   {run: forge}
issues:   {run: true}
execution: {mode: deterministic, commands: [], checkpoint_seconds: 30, checkpoint_changes: 50}
agents:   {implementer: {command: null, minutes: 15, calls: 60}}
memory:   {enabled: true, organisation: false, max: 10000}
testing:  {runner: sandbox}
deploy:
  build: {command: null, artifact: null}
  environments: {}
  feedback: {issues: true, label: null, resolved_label: resolved}
notify:   {targets: []}
audit:    {retention_days: 90}
avoidance:
  {failure_hidden: gate, test_skipped: note, failure_ignored: note, assertion_vacuous: note,
   test_detected: note, threshold_lowered: note, checker_disabled: note, coverage_lost: gate}
welcome:  issue
"""
"""Every key at its default: the sample that the page begins with."""

_INTRODUCTION = f"""\
# Configuration

A repository is configured in `.github/forge.yml`. Everything in it is optional, and without it Forge works with the
defaults below. This page is generated from the code. Editors complete and check the file if it begins with the address
of its schema, which every server of Forge shows for its own version:

```yaml
# yaml-language-server: $schema=https://YOUR-HOST/schema/forge.yml.json
```

Where the server cannot be reached, copy [forge.schema.json](forge.schema.json) and name that file.

`forge config check .github/forge.yml` shows before a push what `Forge / config` would say after it.

## Which file applies

- Only the **default branch** counts. A pull request that touches the file gets the check `Forge / config`, which
  annotates every mistake on its line and says what the new version would change. It takes effect once it is merged.
- The file of the owner's **`.github` repository** (`.github/forge.yml` there as well) is the default for all others,
  if the App may read it. A repository's own file overrides it key by key; lists replace each other whole.
- A **mistake** never stops Forge. While the file is broken Forge uses its last valid version, and each review says so.
  If no version was ever valid, the preset `conservative` applies. Protections and prohibitions in the broken file
  still apply, as far as Forge can read them: `review.never_send`, `paths.protected`, `review.model: never`,
  `review.dry_run: true`, `labels.run: null`, `issues.run: false`, `memory.enabled: false`. Without a file, the preset
  `standard` applies.
- The **operator** of Forge can set ceilings that no file can raise.
- A **run** keeps the configuration it started with, even while it waits for a person for days. Later
  prohibitions apply to it at once: `review.never_send`, `review.model`, `review.dry_run`, `paths.protected`,
  `memory.enabled`, the operator's ceilings, `/forge pause` and `forge halt`. `/forge resume` takes the current
  configuration.

The file is YAML 1.2 in UTF-8, at most {MAX_BYTES // 1024} KB, at most {MAX_DEPTH} levels deep. `yes` and `no` are
text, not `true` and `false`. Anchors, aliases, merge keys and tags are mistakes. Unknown keys are mistakes.

## All of it

Every key at its default:

```yaml
{_SAMPLE}```

## Patterns

These patterns work wherever files are named. A pattern matches the whole path, from the root of the repository:

| in a pattern | stands for |
| --- | --- |
| `*` | anything within one folder |
| `**` | anything, folders included; `**/` also for no folder at all |
| `?` | one character, but not `/` |
| `{{a,b}}` | `a` or `b`; may hold other patterns and further braces |
| `[abc]`, `[a-z]`, `[!abc]` | one of these characters; any but these |

Braces without a comma and brackets also match as they are written: `app/[id]/page.tsx` finds the folder `[id]`; in
`review.paths.exclude`, brackets without a range match only as they are written. A pattern may expand to at most
{globs.MOST} plain ones. `secrets` is a file of that name; `secrets/**` is everything in that folder. Patterns are
case-sensitive and cannot be negated. A pattern that can match nothing (`secrets/`, `./a`, `/a`, `{{}}`, an open
bracket) is a mistake on its line.
"""


def sample() -> str:
    """A file with every key at its default."""
    return _SAMPLE


def json_schema() -> str:
    """The JSON Schema as a file."""
    return json.dumps(schema.build_schema(), indent=2, ensure_ascii=False) + "\n"


def markdown() -> str:
    """The whole page."""
    sections = schema.build_schema()["properties"]
    parts = [_INTRODUCTION, *(_section(name, schema.resolve_reference(node)) for name, node in sections.items())]
    return "\n".join(part.rstrip() + "\n" for part in (*parts, _presets()))


def write(folder: Path) -> None:
    """Write the pages."""
    (folder / "commands.md").write_text(commands.markdown(), encoding="utf-8")
    (folder / "protected.md").write_text(protected.markdown(), encoding="utf-8")
    (folder / "configuration.md").write_text(markdown(), encoding="utf-8")
    (folder / "forge.schema.json").write_text(json_schema(), encoding="utf-8")


def _section(name: str, node: Schema) -> str:
    lines = [f"## `{name}`", "", node["description"], ""]
    if node.get("type") != "object":
        return "\n".join([*lines, f"{_sentence(schema.describe(node))} Default: {_default(node)}."])
    if "properties" in node:
        return "\n".join([*lines, *_table(node, ""), *_entries(node)])
    if "patternProperties" in node:
        [entry] = node["patternProperties"].values()
        known = [f"- `{gate}`: {_who(standard)}" for gate, standard in STANDARD_GATES.items()]
        said = ["", "Standard gates, with the least role that decides each:", "", *known]
        return "\n".join([*lines, *_table(schema.resolve_reference(entry), "NAME."), *said, "", conditions.markdown()])
    return "\n".join(lines)


def _who(standard: StandardGate) -> str:
    """The role a gate asks for, and whom its ``escalate`` should name."""
    return f"{standard.role}; `escalate` is for the {standard.escalates_to}" if standard.escalates_to else standard.role


def _table(node: Schema, prefix: str) -> list[str]:
    if not node["properties"]:
        return []
    return ["| key | default | may be | |", "| --- | --- | --- | --- |", *_rows(node, prefix)]


def _rows(node: Schema, prefix: str, about: str = "") -> Iterator[str]:
    for name, child in cast(dict[str, Schema], node["properties"]).items():
        child = schema.resolve_reference(child)
        section = schema.drop_null(child)
        if "properties" in section:
            yield from _rows(section, f"{prefix}{name}.", section["description"])
            continue
        allowed = schema.describe(schema.drop_null(child))
        yield f"| `{prefix}{name}` | {_default(child)} | {allowed} | {child.get('description', about)} |"


def _entries(node: Schema, prefix: str = "") -> Iterator[str]:
    """The keys of the entries of lists, and of what has names of its own."""
    for name, child in cast(dict[str, Schema], node["properties"]).items():
        section = schema.drop_null(schema.resolve_reference(child))
        if "properties" in section:
            yield from _entries(section, f"{prefix}{name}.")
            continue
        [entry] = section.get("patternProperties", {"": section.get("items", {})}).values()
        entry = schema.resolve_reference(entry)
        if "properties" in entry:
            yield from ("", f"Each of `{prefix}{name}`: {entry['description']}", "", *_table(entry, ""))
            yield from _entries(entry)


def _default(node: Schema) -> str:
    if "default" not in node:
        return "required"
    value: Any = node["default"]
    return "–" if value in (None, "") else f"`{json.dumps(value, ensure_ascii=False).strip(chr(34))}`"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _presets() -> str:
    """What each preset sets; a key that it does not set has its default."""
    numbers = {preset: flatten(values) for preset, values in PRESETS.items()}
    standard = numbers.pop(next(preset for preset in numbers if preset == "standard"))
    paths = list(dict.fromkeys(path for values in numbers.values() for path in values if not path.startswith("gates.")))
    head = ["| key | " + " | ".join(f"`{name}`" for name in ("standard", *numbers)) + " |"]
    rule = ["| --- |" + " --- |" * (len(numbers) + 1)]
    rows = [
        f"| `{path}` | {standard.get(path, _default_at(path))} | "
        + " | ".join(str(values.get(path, "")) for values in numbers.values())
        + " |"
        for path in paths
    ]
    gates = [
        f"- `{name}` asks for the gate `{gate}` when `{values['when']}` ({values['phase']}, {values['timeout']})."
        for name, preset in PRESETS.items()
        for gate, values in cast(dict[str, dict[str, str]], preset.get("gates", {})).items()
    ]
    return "\n".join(["## Presets", "", "Empty: as in `standard`.", "", *head, *rule, *rows, "", *gates])


def _default_at(path: str) -> object:
    node = schema.find_node(path.split("."))
    return node["default"] if node is not None else ""


if __name__ == "__main__":
    write(Path(sys.argv[1]))
