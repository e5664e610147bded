"""The sub-commands of `forge memory`, as they are typed."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli import memory as remembered
from bot.cli.memory import MemoryOptions, MemoryText
from bot.cli.run import run
from domain.memories.memory import MemoryKind

memory = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Show, add, edit, archive, export and import what Forge knows."
)

_Repository = Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Of this repository.")]
_Needed = Annotated[str, typer.Option("--repository", metavar="OWNER/NAME", help="The repository.")]
_OfKind = Annotated[MemoryKind | None, typer.Option(help="Only of this kind.")]
_Archived = Annotated[bool, typer.Option("--archived", help="What counts no more, too.")]
_Name = Annotated[str, typer.Argument(metavar="M-ID", help="As `forge memory list` lists it.")]
_Context = Annotated[str | None, typer.Option(help="When it matters.")]
_Tags = Annotated[str | None, typer.Option(help="Words, rules and paths under which it is found, with commas.")]


@memory.command("list")
def list_all(
    repository: _Repository = None,
    kind: _OfKind = None,
    archived: _Archived = False,
    patterns: Annotated[bool, typer.Option("--patterns", help="Only what recurred.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The newest so many.")] = 100,
) -> None:
    """List what is remembered, newest first, with its confidence as of now."""
    run(lambda settings: remembered.show_all(settings, MemoryOptions(repository, kind, archived, patterns, limit)))


@memory.command()
def show(name: _Name) -> None:
    """Show all of a memory: its source, what became of it, and where it was recalled."""
    run(lambda settings: remembered.show_one(settings, name))


@memory.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember, in a sentence or two.")],
    repository: _Needed,
    context: _Context = None,
    tags: _Tags = None,
    kind: Annotated[MemoryKind, typer.Option(help="What sort of thing it is.")] = MemoryKind.semantic,
) -> None:
    """Have Forge remember something; it does not decay."""
    run(lambda settings: remembered.add(settings, repository, MemoryText(text, context, tags), kind))


@memory.command()
def edit(
    name: _Name,
    content: Annotated[str | None, typer.Option(help="What it says.")] = None,
    context: _Context = None,
    tags: _Tags = None,
) -> None:
    """Put right what a memory says. What it said before is kept in the ledger."""
    run(lambda settings: remembered.edit(settings, name, MemoryText(content, context, tags)))


@memory.command()
def archive(name: _Name) -> None:
    """Let a memory count no more. It is kept."""
    run(lambda settings: remembered.archive(settings, name))


@memory.command("export")
def export_all(
    file: Annotated[Path | None, typer.Argument(help="Where to; standard output, if none is named.")] = None,
    repository: _Repository = None,
    kind: _OfKind = None,
    archived: _Archived = False,
) -> None:
    """Export memories as JSON Lines, oldest first."""
    run(lambda settings: remembered.export(settings, MemoryOptions(repository, kind, archived), file))


@memory.command("import")
def take_in(
    file: Annotated[Path, typer.Argument(help="JSON Lines, as exported; - is standard input.")], repository: _Needed
) -> None:
    """Import memories: all lines, or none if one is wrong. What is known already is not stored twice."""
    run(lambda settings: remembered.import_memories(settings, file, repository))


@memory.command()
def why(
    finding: Annotated[str, typer.Argument(metavar="F-ID", help="As the check names it.")],
    repository: _Needed,
    number: Annotated[int, typer.Option(min=1, help="Of the pull request.")],
) -> None:
    """Show which memories led to a finding, and which dismissals lower or mute it."""
    run(lambda settings: remembered.explain(settings, finding, repository, number))
