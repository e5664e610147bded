"""How many findings one review weighs."""

import time

import pytest

from agents.review.checks.fingerprints import add_fingerprints
from agents.review.checks.inputs import MOST_TAKEN_IN
from agents.review.checks.results import PER_FILE, PER_REVIEW, PER_TOOL, limit_findings
from agents.toolbox import Toolbox
from domain.review.findings import Finding, Layer, RawFinding, Severity
from domain.review.review import Decision, LayerReport, Risk, RiskLevel
from safety.review_decision import decide
from tests.unit.checks.checking import check_files
from tests.unit.checks.findings import build_finding

LOW = Risk(score=0, level=RiskLevel.low, parts=())


def some(number: int, tool: str = "ruff", path: str = "a.py", severity: Severity = Severity.error) -> list[Finding]:
    layer = Layer.security if tool == "zizmor" else Layer.static
    about = {"rule": f"{tool}/x", "path": path, "severity": severity, "layer": layer}
    return [build_finding(line=line, fingerprint=f"{tool}{path}{line}", **about) for line in range(1, number + 1)]


def test_few_are_all_kept() -> None:
    kept, cut = limit_findings(some(PER_FILE))
    assert (len(kept), sum(cut.values())) == (PER_FILE, 0)


def test_one_file_does_not_push_out_another() -> None:
    kept, cut = limit_findings([*some(PER_FILE + 50), *some(3, path="b.py")])
    assert (len(kept), cut[Layer.static]) == (PER_FILE + 3, 50)


def test_one_tool_does_not_push_out_another() -> None:
    flood = [each for path in "abcdef" for each in some(PER_FILE, path=path)]
    kept, cut = limit_findings([*flood, *some(5, tool="zizmor", severity=Severity.warning)])
    assert (len(kept), cut[Layer.static], cut[Layer.security]) == (PER_TOOL + 5, 6 * PER_FILE - PER_TOOL, 0)


def test_a_review_has_an_end() -> None:
    kept, cut = limit_findings([each for tool in ("ruff", "zizmor", "z") for p in "abc" for each in some(100, tool, p)])
    assert (len(kept), sum(cut.values())) == (PER_REVIEW, 400)


@pytest.mark.parametrize(("severity", "counted"), [(Severity.info, 0), (Severity.warning, 7)])
def test_only_what_is_weighed_counts_as_left_out(severity: Severity, counted: int) -> None:
    assert limit_findings(some(PER_FILE + 7, severity=severity))[1][Layer.static] == counted


@pytest.mark.parametrize(("cut", "decision"), [(0, Decision.approve), (1, Decision.require_human)])
def test_t_r14_what_is_left_out_is_never_approved(cut: int, decision: Decision) -> None:
    verdict = decide([], LOW, [LayerReport(layer=Layer.static, cut=cut)], [])
    assert verdict.decision is decision
    assert [reason.code for reason in verdict.reasons] == ["findings.cut" if cut else "risk.level"]


@pytest.mark.deep
@pytest.mark.asyncio(loop_scope="session")
async def test_t_r14_what_a_flood_kept_a_tool_from_was_not_read(toolbox: Toolbox) -> None:
    """Else source that nobody came to would count as read, and could be approved (T-R13)."""
    undefined = "aaa,bbb,ccc,ddd,eee,fff,ggg,hhh\n" * 12_500
    unsafe = "import pickle\n" + "pickle.loads(b'')\n" * (MOST_TAKEN_IN + 1)
    few = await check_files(toolbox, {"a.py": (None, "a = 1\n"), "z.py": (None, "z = 1\n")})
    many = await check_files(toolbox, {"a.py": (None, undefined), "z.py": (None, "z = 1\n")})
    worse = await check_files(toolbox, {"a.py": (None, unsafe), "z.py": (None, "z = 1\n")})

    assert few.read_by == {"a.py": ("ruff",), "z.py": ("ruff",)}
    assert many.read_by == {}
    assert worse.read_by == few.read_by
    problems = {(layer.layer, tool.tool): tool.problem for layer in worse.layers for tool in layer.tools}
    assert problems[Layer.static, "ruff"] is None
    assert "reported too much" in (problems[Layer.security, "ruff"] or "")


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_what_ruff_cannot_decode_it_did_not_read(toolbox: Toolbox) -> None:
    source = "# -*- coding: latin-1 -*-\nx = 1  # \xe9\n".encode("latin-1")
    result = await check_files(toolbox, {"a.py": (None, source), "b.py": (None, "b = 1\n")})
    assert result.read_by == {"b.py": ("ruff",)}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("first", "is_read"),
    [
        ("", True),
        ("# -*- coding: utf-8 -*-", True),
        ("# vim: set fileencoding=UTF_8 :", True),
        ("# coding: utf-8-unix", True),
        ("# coding: ascii", True),
        ("# coding=latin-1", True),
        ("# -*- coding: utf-7 -*-", False),
        ("#!/usr/bin/python\n# coding: utf-7", False),
        ("\r# coding: utf-7", False),
        ("# coding: rot13", False),
        ("\n\n# coding: utf-7 is no cookie here", True),
    ],
)
async def test_t_r13_what_python_reads_as_another_program_was_not_read(
    toolbox: Toolbox, first: str, is_read: bool
) -> None:
    """In UTF-7 the comment ends: `+AAo-` is a line feed, and Python runs what follows."""
    source = f"{first}\n# harmless +AAo-print(1)\nx = 1\n".encode()
    result = await check_files(toolbox, {"a.py": (None, source)})
    assert result.read_by == ({"a.py": ("ruff",)} if is_read else {})
    assert ("not in UTF-8 or declare another encoding: a.py." in (result.layers[0].note or "")) is not is_read


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_what_nobody_could_parse_nobody_read(toolbox: Toolbox) -> None:
    """It is no fault of a tool either, where it was so before: such a file is unread, as one of another language."""
    old = "print 'hello'\nx = 1\n"
    result = await check_files(toolbox, {"a.py": (old, old + "print 'bye'\n"), "b.py": (None, "b = 1\n")})
    assert (result.findings, result.read_by) == ((), {"b.py": ("ruff",)})
    assert all(tool.problem is None for layer in result.layers for tool in layer.tools)
    fresh = await check_files(toolbox, {"a.py": (None, old)})
    assert ([each.rule for each in fresh.findings], fresh.read_by) == (["ruff/invalid-syntax"], {})
    assert all(tool.problem is None for layer in fresh.layers for tool in layer.tools)


def test_findings_in_long_lines_take_no_longer() -> None:
    """As in a minified file, where linters find thousands: each line is looked at once."""
    line = "a(b);" * 6_000
    found = [each.model_copy(update={"line": number % 12 + 1}) for number, each in enumerate(some(1_000))]
    begun = time.process_time()
    named = add_fingerprints([RawFinding(**dict(each)) for each in found], {"a.py": [line] * 12})
    assert time.process_time() - begun < 20  # seconds; it took six minutes
    assert len({each.fingerprint for each in named}) == len(found)
