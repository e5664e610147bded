"""Which tools check a change: each that has files to look at, at the sandbox level it may look at them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agents.review.checks import (
    copies,
    credentials,
    hidden_text,
    linters,
    own_rules,
    oxlint,
    ruff,
    script_linters,
    suppressions,
    syntax,
    workflows,
)
from agents.review.checks.inputs import CheckedFile, ProgramTerms, ToolReport
from agents.review.checks.ruff_settings import PythonProject
from agents.review.checks.rule_texts import name_some
from agents.toolbox import Toolbox
from domain.config.sections import Linter
from domain.review.findings import Layer
from domain.review.reading import CheckName
from safety.containment import PARSERS, CodeOrigin, Containment


@dataclass(frozen=True)
class CheckTool:
    """A tool with its files: its name, its layer, where it may run, and the check at a sandbox level."""

    name: str
    layer: Layer
    where: Containment
    check: Callable[[int], Awaitable[ToolReport]]


Check = Callable[[ProgramTerms], Awaitable[ToolReport]]
OwnLinter = Callable[[Sequence[CheckedFile], ProgramTerms], Awaitable[ToolReport]]
"""A linter of ours."""


@dataclass(frozen=True)
class Checks:
    """The checks of one change: its files, whose code they are, and the tools' place of work."""

    files: Sequence[CheckedFile]
    toolbox: Toolbox
    origin: CodeOrigin

    @property
    def heeds_comments(self) -> bool:
        """Whether comments that silence tools count."""
        return suppressions.is_honoured(self.origin)

    def list_tools(
        self,
        folder: Path,
        python: PythonProject,
        configured: Sequence[Linter],
        linter_files: Mapping[str, bytes],
    ) -> list[CheckTool]:
        """Every tool that has files to check.

        :param folder: where both versions of Python files and workflows are written.
        :param configured: the repository's own linters.
        :param linter_files: what they want of the merge base, by path.
        """
        found = [
            *self._list_python(folder, python),
            self._start(CheckName.oxlint, oxlint.is_for, oxlint.check),
            self._start(CheckName.shellcheck, script_linters.is_shell_script, script_linters.check_shell_scripts),
            self._start(CheckName.hadolint, script_linters.is_dockerfile, script_linters.check_dockerfiles),
            self._parse(),
            self._search_hidden_text(),
            self._search_credentials(),
            self._audit_workflows(folder),
            self._match_patterns(),
            self._match_dangers(),
        ]
        return [
            *(tool for tool in found if tool is not None),
            *(self._build_linter(each, linter_files) for each in configured),
        ]

    def _list_python(self, folder: Path, project: PythonProject) -> list[CheckTool]:
        files = [file for file in self.files if file.is_python]
        if not files:
            return []
        lint = partial(ruff.check, files, folder=folder, project=project)
        scan = partial(ruff.check_security, files, folder=folder)
        layers = ((Layer.static, lint), (Layer.security, scan))
        return [self._program(CheckName.ruff, layer, run) for layer, run in layers]

    def _start(self, name: CheckName, is_for: Callable[[CheckedFile], bool], check: OwnLinter) -> CheckTool | None:
        files = [file for file in self.files if is_for(file)]
        return self._program(name, Layer.static, partial(_check_text, name, files, check)) if files else None

    def _parse(self) -> CheckTool | None:
        files = [file for file in self.files if syntax.is_for(file)]
        check = partial(syntax.check, files, self.toolbox)
        return self._worker(CheckName.syntax, Layer.static, check) if files else None

    def _search_hidden_text(self) -> CheckTool | None:
        files = [file for file in self.files if hidden_text.is_for(file)]
        search = partial(hidden_text.check, files, self.files, self.toolbox)
        return self._worker(CheckName.hidden_text, Layer.security, search) if files else None

    def _search_credentials(self) -> CheckTool | None:
        search = partial(credentials.check, self.files, self.toolbox)
        return self._worker(CheckName.secrets, Layer.security, search) if self.files else None

    def _audit_workflows(self, folder: Path) -> CheckTool | None:
        files = [file for file in self.files if workflows.is_workflow(file.path)]
        audit = partial(workflows.check, files, folder=folder)
        return self._program(CheckName.zizmor, Layer.security, audit) if files else None

    def _match_patterns(self) -> CheckTool | None:
        files = [file for file in self.files if own_rules.is_script(file)]
        match = partial(own_rules.check_scripts, files, self.toolbox)
        return self._worker(CheckName.patterns, Layer.security, match) if files else None

    def _match_dangers(self) -> CheckTool | None:
        files = [file for file in self.files if own_rules.has_rules(file)]
        match = partial(own_rules.check_programs, files, self.toolbox, heeding=self.heeds_comments)
        return self._worker(CheckName.ast_grep, Layer.security, match) if files else None

    def _build_linter(self, linter: Linter, linter_files: Mapping[str, bytes]) -> CheckTool:
        matching = linters.match_files(linter, self.files)
        where = self.toolbox.for_program(linter.name, origin=self.origin, executes=True)
        beside = linters.match_base(linter, linter_files)
        run = partial(linters.check, linter, matching, beside=beside, reads=self.toolbox.reads)
        return CheckTool(linter.name, Layer.static, where if matching else Containment(PARSERS), self._on_terms(run))

    def _on_terms(self, check: Check) -> Callable[[int], Awaitable[ToolReport]]:
        """A check by a program, at a sandbox level."""
        toolbox = self.toolbox
        return lambda level: check(ProgramTerms(toolbox.sandbox, level, toolbox.seconds, self.heeds_comments))

    def _program(self, name: CheckName, layer: Layer, check: Check) -> CheckTool:
        where = self.toolbox.for_program(name, origin=self.origin)
        return CheckTool(name.value, layer, where, self._on_terms(check))

    def _worker(self, name: CheckName, layer: Layer, check: Callable[[], Awaitable[ToolReport]]) -> CheckTool:
        return CheckTool(name.value, layer, self.toolbox.for_worker(name, origin=self.origin), lambda _: check())


async def _check_text(
    name: CheckName, files: Sequence[CheckedFile], check: OwnLinter, terms: ProgramTerms
) -> ToolReport:
    """Check the files in UTF-8, and name the others: the program would read other characters, or none."""
    usable = [file for file in files if copies.is_text(file)]
    report = await check(usable, terms) if usable else ToolReport()
    odd = [file.path for file in files if not copies.is_text(file)]
    note = f"{name.value} did not read these files, because they are not in UTF-8: {name_some(odd)}." if odd else None
    return replace(report, note=" ".join(filter(None, [report.note, note])) or None)
