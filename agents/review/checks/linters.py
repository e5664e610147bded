"""Layer 1 for other languages: the linters that a repository configures, in a sandbox for untrusted code."""

import asyncio
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from agents.review.checks import sarif
from agents.review.checks.inputs import (
    BASE,
    HEAD,
    MOST_PRINTED,
    CheckedFile,
    ProgramTerms,
    ToolReport,
    can_be_written,
    write_versions,
)
from agents.review.checks.rule_texts import shorten
from domain.config.sections import Linter
from domain.errors import ToolError
from domain.globs import matches, matches_by_name
from domain.paths import may_configure_linter
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.launcher import SYSTEM
from workspace.sandbox.sandbox import SandboxCommand

_CANNOT_SHOW = "bwrap: Can't find source path"
_NOT_FOUND = 127  # the exit status of a shell, and so of the sandbox, if there is no such program
_SETTINGS = frozenset(("", "toml", "yaml", "yml", "json", "jsonc", "ini", "cfg", "conf", "xml", "properties", "rc"))
_MODULE = re.compile(r"\s-m\s+([\w.]+)")

MOST_FILES = 500
"""How many files of the merge base may lie beside the changed ones."""


def match_files(linter: Linter, files: Sequence[CheckedFile]) -> list[CheckedFile]:
    """The files a linter is for; where it brings its configuration of the merge base, none that may be one."""
    return [
        file
        for file in files
        if can_be_written(file.path) and matches(file.path, linter.paths)
        if not (linter.files and (matches(file.path, linter.files) or _find_steering(linter, [file])))
    ]


def match_base(linter: Linter, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of the merge base that a linter wants, out of those of all linters."""
    return {path: content for path, content in files.items() if can_be_written(path) and matches(path, linter.files)}


async def check(
    linter: Linter,
    files: Sequence[CheckedFile],
    terms: ProgramTerms,
    beside: Mapping[str, bytes],
    reads: tuple[Path, ...],
) -> ToolReport:
    """Run a linter on both versions of its files.

    :param beside: its files of the merge base by path, the same for both versions.
    :param reads: folders outside the system's that it may read and execute from.
    :param terms: with a level at which it may execute the code it checks.
    :raises ToolError: the linter failed.
    """
    if not files:
        return ToolReport()
    if len(beside) > MOST_FILES:
        raise ToolError(f"its `files` match more than {MOST_FILES} files.", "Name only what it reads.")
    old = [file for file in files if file.base is not None]
    environment = _choose_environment(linter, beside, reads)
    with terms.sandbox.folder() as folder:
        await asyncio.to_thread(write_versions, folder, files, beside)
        head, base = await asyncio.gather(
            _run(linter, HEAD, folder, files, terms, reads, environment),
            _run(linter, BASE, folder, old, terms, reads, environment),
        )
    why = _explain_no_reader(linter, files, head)
    named = (file.path for file in files if why is None and matches_by_name(file.path, linter.paths))
    read = frozenset(named) - head.skipped
    return ToolReport(head.findings, base.findings, files=len(files), read=read, note=why)


def _explain_no_reader(linter: Linter, files: Sequence[CheckedFile], head: sarif.SarifReport) -> str | None:
    """Why the linter does not count as a reader, so that its silence about a file means nothing; None if it counts."""
    if not head.is_all:
        return f"{linter.name} does not count as a reader here: it says that it could not do all of its work."
    if steering := _find_steering(linter, files):
        return (
            f"{linter.name} does not count as a reader here: "
            f"the change brings {steering[0]}, which may be its configuration."
        )
    return None


def _find_steering(linter: Linter, files: Sequence[CheckedFile]) -> list[str]:
    """The files that may configure the linter: those where linters look for settings, and those its command names."""
    return [
        file.path
        for file in files
        if may_configure_linter(file.path)
        or PurePosixPath(file.path).name in linter.run
        or _is_named_after(linter, file.path)
        or _hides_module(linter, file.path)
    ]


def _is_named_after(linter: Linter, path: str) -> bool:
    """Whether a file has the name of the linter or of a word of its command, as ``revive.toml``."""
    stem, _, suffix = PurePosixPath(path.lower()).name.lstrip("_").partition(".")
    words = (linter.name, *(PurePosixPath(word).name for word in shlex.split(linter.run)))
    return suffix in _SETTINGS and stem in {word.lower() for word in words}


def _hides_module(linter: Linter, path: str) -> bool:
    """Whether Python, where it runs a file that lies beside, would take this one for a module of its library.

    A script finds modules in its own folder first, a module in the current one.
    """
    scripts = [PurePosixPath(word).parent for word in shlex.split(linter.run) if word.endswith(".py")]
    module = [PurePosixPath()] if any(matches(file, linter.files) for file in _list_module_files(linter)) else []
    within = [PurePosixPath(path).relative_to(at) for at in scripts + module if PurePosixPath(path).is_relative_to(at)]
    return any(each.parts[0].partition(".")[0] in sys.stdlib_module_names for each in within if each.parts)


def _list_module_files(linter: Linter) -> list[str]:
    """Where Python would look for the module of ``python -m``; empty if it runs none."""
    module = _MODULE.search(linter.run)
    at = module[1].replace(".", "/") if module else ""
    return [f"{at}.py", f"{at}/__main__.py"] if at else []


def _choose_environment(linter: Linter, beside: Mapping[str, bytes], reads: Sequence[Path]) -> dict[str, str]:
    """Where programs are, and what keeps ``python -m`` from taking modules of the change for its own.

    A module that lies beside the files is found.
    """
    module = _list_module_files(linter)
    safe = {"PYTHONSAFEPATH": "1"} if module and beside.keys().isdisjoint(module) else {}
    return {"PATH": build_path(reads), **safe}


async def _run(
    linter: Linter,
    side: str,
    folder: Path,
    files: Sequence[CheckedFile],
    terms: ProgramTerms,
    reads: tuple[Path, ...],
    environment: Mapping[str, str],
) -> sarif.SarifReport:
    if not files:
        return sarif.SarifReport()
    root = folder / side
    wanted = (*shlex.split(linter.run), *("./" + file.path for file in files))
    command = SandboxCommand(wanted, root, terms.seconds, output=MOST_PRINTED, reads=reads, environment=environment)
    done = await terms.sandbox.run(command, terms.level)
    if not done.stdout.is_complete:
        raise ToolError(f"{linter.name} printed {done.stdout.total:,} bytes, more than can be taken in.")
    if done.status is None:
        raise ToolError(f"{linter.name} did not finish within {terms.seconds:g} seconds and was stopped.")
    if done.status == _NOT_FOUND and not done.stdout.data:
        program = shorten(wanted[0], 100)
        advice = "Install it there, or take it out of `review.linters`."
        raise ToolError(f"its program {program} is not installed where Forge runs.", advice)
    lines = {file.path: len(file.head_lines if side == HEAD else file.base_lines) for file in files}
    try:
        seen = str(terms.sandbox.path_inside(root, terms.level))
        return await asyncio.to_thread(sarif.read, done.stdout.data, linter.name, lines, seen, heeding=terms.heeding)
    except ToolError as error:
        said = shorten(done.stderr.data.decode(errors="replace"), 200)
        ended = f" It ended with status {done.status}" + (f" and said: {said}" if said else ".")
        raise ToolError(error.message + ended, _advise_on_program(wanted[0], reads, said)) from None


def _advise_on_program(program: str, reads: Sequence[Path], said: str) -> str:
    """What to do where a program outside the sandbox's folders failed: it could be started, but not read its parts."""
    if said.startswith(_CANNOT_SHOW):
        return "Let other accounts enter that folder of FORGE_SANDBOX_TOOLS and those above it (`chmod o+x`)."
    if not program.startswith("/") or any(Path(program).is_relative_to(folder) for folder in (*SYSTEM, *reads)):
        return ""
    return f"What belongs to {shorten(program, 100)} cannot be read there: name its folder in FORGE_SANDBOX_TOOLS."
