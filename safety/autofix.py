"""Decides which findings Forge may fix automatically, and applies the fixes."""

from collections.abc import Mapping, Sequence

from domain.review.findings import Finding, Layer
from safety.protected_files import decides_about_runs
from safety.suggestions import apply_all

_SIMPLE = (
    *("I", "W", "E1", "E2", "E3", "Q", "COM", "D2"),  # formatting
    *("F401", "F541", "UP", "PIE79"),  # lint whose safe fix does not change behaviour
)
MOST_FINDINGS = 50
MOST_FILES = 20


def is_simple(finding: Finding) -> bool:
    """Whether it is formatting or simple lint that its tool can fix safely, where agents may write; never a security or
    model finding.
    """
    tool, _, code = finding.rule.partition("/")
    return (
        finding.layer is Layer.static
        and finding.fix is not None
        and tool == "ruff"
        and not decides_about_runs(finding.path)
        and any(code.startswith(family) and _continues_number(code, family) for family in _SIMPLE)
    )


def select_fixable(findings: Sequence[Finding]) -> list[Finding]:
    """Selects simple findings whose fixes can be applied together, by place.

    Of overlapping fixes it takes the first. Two removals of indented lines in one file could empty
    a block, so it takes only one of them; a later review offers the other.
    """
    taken: dict[str, list[Finding]] = {}
    for finding in sorted(filter(is_simple, findings), key=_place):
        kept = taken.setdefault(finding.path, [])
        if not kept or _place(kept[-1])[2] < _place(finding)[1]:
            kept.append(finding)
    files = sorted(path for path, kept in taken.items() if kept)[:MOST_FILES]
    return [finding for path in files for finding in taken[path]][:MOST_FINDINGS]


def apply_fixes(files: Mapping[str, bytes], findings: Sequence[Finding]) -> tuple[dict[str, bytes], list[Finding]]:
    """The new contents of the files that change, and the findings that were corrected.

    :param files: path → content at head, without those that cannot be read.
    :param findings: from :func:`select_fixable`.
    """
    contents: dict[str, bytes] = {}
    done: list[Finding] = []
    for path in dict.fromkeys(finding.path for finding in findings):
        before = files.get(path)
        made = None if before is None else _fix_file(before, [each for each in findings if each.path == path])
        if made is not None and made[0] != before:
            contents[path] = made[0]
            done += made[1]
    return contents, done


def _fix_file(content: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Finding]] | None:
    """The file with its fixes, and those that were made; None if it is not plain text or has other lines."""
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    done: list[Finding] = []
    for finding in sorted(findings, key=_place, reverse=True):
        fix = finding.fix
        if fix is None or not 1 <= fix.start_line <= fix.end_line <= len(lines):
            return None
        if not (_empties_block(finding, lines) and any(_empties_block(each, lines) for each in done)):
            done.append(finding)
    return apply_all([each.fix for each in done if each.fix is not None], content), done[::-1]


def _empties_block(finding: Finding, lines: Sequence[str]) -> bool:
    """Whether it removes indented lines."""
    fix = finding.fix
    return fix is not None and not fix.replacement and lines[fix.start_line - 1][:1].isspace()


def _place(finding: Finding) -> tuple[str, int, int]:
    fix = finding.fix
    return (finding.path, 0, 0) if fix is None else (finding.path, fix.start_line, fix.end_line)


def _continues_number(code: str, family: str) -> bool:
    """Whether the code continues with a number: ``I`` holds I001 and not INT001."""
    return family[-1].isdigit() or code[len(family) :][:1].isdigit()
