"""Writes the pages of ``docs`` that come from the code, so that both agree.

``python -m bot.reference docs`` writes them all; a test fails when one is out of date.
"""

import json
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from domain import globs
from domain.config import configuration
from domain.config.conditions import NAMES, KnownName
from domain.config.configuration import Schema
from domain.config.presets import PRESETS, Values, flatten
from domain.verbs import VERBS, Verb, find_role
from messages.commands import render_verb
from pipeline.config.yaml import MAX_BYTES, MAX_DEPTH
from safety.plan_risk import MORE_FOR_AGENTS
from safety.protected_files import TABLE, ProtectedFiles


def write(folder: Path) -> None:
    """Write the pages."""
    (folder / "commands.md").write_text(render_commands(), encoding="utf-8")
    (folder / "protected.md").write_text(render_protected(), encoding="utf-8")
    (folder / "configuration.md").write_text(render_configuration(), encoding="utf-8")
    (folder / "forge.schema.json").write_text(json_schema(), encoding="utf-8")
    gates = folder / "gates.md"
    gates.write_text(put_names(gates.read_text(encoding="utf-8")), encoding="utf-8")


_DISMISSES, _ASKS, _HAS_DONE = find_role(Verb.dismiss), find_role(Verb.ask), find_role(Verb.do)
_COMMANDS = f"""\
# Pull requests and commands

## When Forge reviews your pull request

1. **Read the check** `Forge / review` first: the verdict, then what to do next. Comments on lines are the findings.
2. **A finding is right:** fix it and push. Forge looks again, resolves the thread if nobody else wrote in it, and
   repeats nothing. `/forge fix all` fixes what can be fixed, in one commit; *For your coding agent*, folded in the
   check, is a list for yours.
3. **A finding is shown by running:** the failing test is folded below it. Copy it to its path, or let
   `/forge fix F-ID` commit a change with which it passes.
4. **A finding is wrong:** somebody else with the role {_DISMISSES} replies `/forge dismiss` and why; you may if nobody else
   has it. Warnings hold nothing; errors and questions to people do. Or say in the thread why it is wrong: Forge weighs
   that with the code, and says what makes you right or which line speaks against it. Words alone lift nothing that
   blocks.
5. **You do not understand it:** reply `/forge explain`, or ask in the thread.
6. **Forge waits for a person:** the comment of the [gate](gates.md) says who may answer, and until when.

## How commands are read

Write `/forge VERB …` in a comment, a review or a reply to a finding. `/forge help` shows the table below.

- **One command a line**, at its start, up to 20. Quotes, code, headings, links, HTML comments, edited comments and
  comments of Apps are not read.
- **One answer per comment**, also to mistakes and refusals. 👀 says that it was heard, as a mention was; a decision
  at a gate gets 👍.
- **In a reply to a finding** its id may be left out.
- **Roles** are GitHub's (read < triage < write < maintain < admin), asked when the command arrives and again when it
  acts.
- **Not the author where others have it**: an [author of the change](gates.md#who-counts-as-the-author) may use it only
  if nobody else has the role. Where gates take two people, so do these commands, except `confirm`.
- **Questions need no command** where you quote Forge or mention it, and in a review thread right below its comment
  (role {_ASKS}); nothing else in the conversation is taken for one. A mention that wants something done is `/forge do`
  ([instructions](instructions.md)), or the one command that says the same: `update`, `mend`, `tests`, `changelog` or
  `describe`; Forge says which it took. To *look again* it points to `/forge review full`.
- **Answer what Forge asks** by a reply in the thread, a mention or a quote (role {_HAS_DONE}): the same work goes on with it.
- **Words of your own**, such as an instruction or a reason, go on below their line up to the next command. Quotes in
  them are left out.
- **Resolving a finding's thread** without a change dismisses it if you may dismiss it; not an author's own, and no
  critical security finding.
- **Review again** on the check, and the label `forge` on a pull request, are `/forge review full`.
"""  # noqa: E501


def render_commands() -> str:
    """The page ``commands.md``, from the table of verbs that ``/forge help`` answers with."""
    head = ["## All commands", "", "| command | minimum role | meaning |", "| --- | --- | --- |"]
    return "\n".join([_COMMANDS, *head, *map(render_verb, VERBS.values()), ""])


_PROTECTED = """\
# Protected files

Files that decide what is run and who may do what. `paths.protected` in `.github/forge.yml` adds yours to the first
list.

- **Forge's agents leave them alone**, external ones too. Where a plan names some, a maintainer may allow exactly these
  at `protected_paths`; git's own files never.
- **A plan** that names one is of high risk, so a person decides about it.
- **A pull request** that changes one is never of low risk: Forge neither approves nor merges it unasked.

Names count without case, invisible characters, and dots and spaces at their end.

## These ask a maintainer

At the gate `protected_paths`, and not the author: such a file has run with secrets or moved a right before anybody
reads it. The gate holds the merge. Only the CI itself can hold what it starts on a push.

So does whatever lies where such programs keep their settings, but is not known as harmless: a hidden file or folder at
the root, and YAML, TOML or JSON in `.github/`. Settings of formatters, linters, tests and documents are known.
"""
_KEPT = """\
## These are only kept from agents

They act after a review, or with the rights of whoever fetched the branch. Every team edits them; name those that shall
ask in `paths.protected`.
"""


def render_protected() -> str:
    """The page of protected files, from their table."""
    more = ", ".join(f"`{pattern}`" for pattern in MORE_FOR_AGENTS)
    parts = [
        _PROTECTED,
        *_list_groups(row for row in TABLE if row.asks),
        "",
        _KEPT,
        *_list_groups(row for row in TABLE if not row.asks),
        "",
        f"Also kept from agents, and of high risk in a plan: lock files, and migrations by {more}.",
        "And the files of `review.instructions`, because agents follow them; a plan may name these at any risk.",
    ]
    return "\n".join(parts) + "\n"


def _list_groups(rows: Iterable[ProtectedFiles]) -> Iterator[str]:
    """What is done with the files, and below it each reader that does so."""
    groups = defaultdict[str, list[str]](list)
    for row in rows:
        groups[row.runs].append(f"{row.reader}: {' '.join(f'`{pattern}`' for pattern in row.patterns)}")
    for runs, readers in groups.items():
        yield f"- **{runs[0].upper()}{runs[1:]}**"
        for each in readers:
            yield textwrap.fill(each, 120, initial_indent="    - ", subsequent_indent="      ", break_on_hyphens=False)


_CONFIGURATION = """\
# Configuration

A repository is configured by `.github/forge.yml` on its default branch. Every key is optional; this is the whole file
at its defaults. `forge config check` finds mistakes before a push; in a pull request that changes the file, `Forge /
config` shows them on their lines, and what would change.

```yaml
# yaml-language-server: $schema=https://YOUR-HOST/schema/forge.yml.json
{sample}```

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
- **The format**: YAML 1.2 in UTF-8, up to {kilobytes} KB and {depth} levels; no anchors, merge keys or
  tags. `yes` and `no` are text. An unknown key is a mistake.

## Patterns of files

A pattern matches a whole path, case-sensitively. `*` stands for anything within a folder, `**` for any folders, `?` for
one character, `{{a,b}}` for either, `[abc]` or `[!a-z]` for one character. `secrets` is a file, `secrets/**` all in a
folder. There is no negation. Brackets also match as written (`app/[id]/page.tsx`); in `review.paths.exclude` only so,
unless they hold a range. Up to {alternatives} alternatives.

"""


def json_schema() -> str:
    """The JSON Schema as a file."""
    return json.dumps(configuration.build_schema(), indent=2, ensure_ascii=False) + "\n"


def render_configuration() -> str:
    """The page of the configuration, with the whole file and what each preset sets."""
    page = _CONFIGURATION.format(
        sample=render_sample(), kilobytes=MAX_BYTES // 1024, depth=MAX_DEPTH, alternatives=globs.MOST
    )
    return page + _render_presets()


def _render_presets() -> str:
    """What each preset sets; a key that it does not set has its default."""
    said = [f"- `{preset}`: {_describe_preset(values)}" for preset, values in PRESETS.items() if values]
    named = [textwrap.fill(each, 120, subsequent_indent="  ", break_on_hyphens=False) for each in said]
    return "\n".join(["## Presets", "", "`standard` is all defaults. The others set:", "", *named, ""])


def _describe_preset(values: Values) -> str:
    numbers = [f"`{path}` {value}" for path, value in flatten(values).items() if not path.startswith("gates.")]
    gates = cast(dict[str, dict[str, str]], values.get("gates", {}))
    asked = [f"gate `{name}` in {gate['phase']} when `{gate['when']}`" for name, gate in gates.items()]
    return "; ".join([*numbers, *asked]) + "."


_WIDTH = 112
PAGES = {"linters": "review.md", "gates": "gates.md", "environments": "deployments.md", "notify": "notices.md"}
"""The pages that show what an entry of these lists holds."""
_PLAIN = re.compile(r"[A-Za-z/.][\w ./-]*")
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off"}


def render_sample() -> str:
    """A ``.github/forge.yml`` with every key at its default, each with what it means.

    What a list or a name of your own may hold is shown in comments.
    """
    sections = cast(dict[str, Schema], configuration.build_schema()["properties"])
    return "\n".join(line for name, node in sections.items() for line in _key(name, node, "")) + "\n"


def _key(name: str, raw: Schema, said: str) -> Iterator[str]:
    """The lines of a key.

    :param said: what is said of the section that it is in.
    """
    node = configuration.drop_null(configuration.resolve_reference(raw))
    if "properties" not in node:
        elsewhere = f" {PAGES[name]} shows one." if name in PAGES else ""
        yield from _explain(f"{name}: {_flow(node.get('default', _example(node)))}", _about(node, said) + elsewhere)
        yield from () if elsewhere else (f"#  {line}" for line in _entry(node))
    elif "description" in raw:  # one line says what all of its keys are
        yield from _explain(f"{name}: {_flow(_defaults(node))}", raw["description"])
    else:
        yield from _explain(f"{name}:", node["description"])
        yield from _indent(_keys(node))


def _keys(node: Schema) -> Iterator[str]:
    for name, child in cast(dict[str, Schema], node["properties"]).items():
        yield from _key(name, child, node["description"])


def _entry(node: Schema) -> Iterator[str]:
    """An entry of a list of sections."""
    entry = configuration.resolve_reference(node.get("items", {}))
    if "properties" in entry:
        first, *others = _keys(entry)
        yield from (f"- {first}", *_indent(others))


def _about(node: Schema, said: str) -> str:
    about = node.get("description", "")
    left = [choice for choice in node.get("enum", ()) if f"`{choice}`" not in f"{about} {said}"]
    return f"{about} One of {', '.join(left)}." if left else about


def _defaults(node: Schema) -> dict[str, Any]:
    return {name: child.get("default") for name, child in cast(dict[str, Schema], node["properties"]).items()}


def _example(node: Schema) -> object:
    """A value of a key that has to be there."""
    examples = configuration.resolve_reference(node.get("items", node)).get("examples", ("…",))
    return [examples[0]] if "items" in node else examples[0]


def _explain(text: str, about: str) -> Iterator[str]:
    """A comment behind the text, or above it where the line would be too long."""
    comment = about.replace("`", "")
    beside = f"{text}  # {comment}" if comment else text
    if len(beside) <= _WIDTH:
        yield beside
        return
    yield from (f"# {line}" for line in textwrap.wrap(comment, _WIDTH - 2))
    first, *others = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (first, *_indent(others))


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in cast(dict[str, Any], value).items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, cast(list[Any], value))) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _WORDS_OF_YAML:
        return value
    return json.dumps(value, ensure_ascii=False)


BEGIN, END = "<!-- names: written by make docs -->", "<!-- end of names -->"


def put_names(page: str) -> str:
    """The page with the names written anew between its marks.

    :raises ValueError: if the page lacks a mark.
    """
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    names = "\n".join(map(_describe_name, NAMES.values()))
    return f"{page[:start]}\n\n{names}\n\n{page[end:]}"


def _describe_name(known: KnownName) -> str:
    choices = ", ".join(f"`{choice}`" for choice in known.type.choices)
    one_of = f" ({choices})" if choices and not known.type.ordered else ""
    return f"- `{known.name}`: {known.about[0].lower()}{known.about[1:].rstrip('.')}{one_of}"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
