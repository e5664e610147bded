"""When a finding that a comment carries is gone: for certain, or not at all."""

import pytest

from domain.review.changes import SkippedFile
from domain.review.findings import Finding, Layer
from domain.review.review import LayerReport, Review, ToolRun
from safety.suppression import is_gone
from tests.unit.checks.findings import build_finding
from tests.unit.safety.reviews import build_review


def find(rule: str = "ruff/F821", mark: str = "1", trail: str = "t", layer: Layer = Layer.static) -> Finding:
    return build_finding(rule=rule, layer=layer, fingerprint=mark, trail=trail)


def review(*findings: Finding, tool: ToolRun | None = None, cut: int = 0, **more: object) -> Review:
    ran = (ToolRun(tool="ruff", seconds=0, files=1),) if tool is None else (tool,)
    layers = (LayerReport(layer=Layer.static, tools=ran, cut=cut), LayerReport(layer=Layer.security))
    return build_review(*findings, layers=layers, **{"changed": ("a.py",), **more})


def is_finding_gone(finding: Finding, at: Review, *carried: str, called_gone: bool = False) -> bool:
    return is_gone(finding, at, {finding.fingerprint, *carried}, called_gone=called_gone)


USUAL, MOVED = find(), find(mark="2")
NOW: dict[str, tuple[Finding, Review, bool]] = {
    "the tool ran again and does not report it": (USUAL, review(), True),
    "its file is not changed any more": (USUAL, review(changed=("b.py",)), True),
    "it is there": (USUAL, review(find()), False),
    "the tool failed": (USUAL, review(tool=ToolRun(tool="ruff", seconds=0, files=1, problem="It was stopped.")), False),
    "there were too many": (USUAL, review(cut=1), False),
    "its file was not looked at": (USUAL, review(not_looked_at=(SkippedFile(path="a.py", reason="binary"),)), False),
    "its file was not parsed": (USUAL, review(find("ruff/invalid-syntax", "2", "s")), False),
    "its linter is configured no more": (find("eslint/x"), review(), False),
    "a credential is never gone": (find("secret/aws-secret-key", layer=Layer.security), review(), False),
    "it moved": (USUAL, review(MOVED), False),
}


@pytest.mark.parametrize("why", NOW)
def test_whether_it_is_gone(why: str) -> None:
    found, at, is_it = NOW[why]
    assert is_finding_gone(found, at) is is_it


def test_one_that_moved_is_gone_once_it_has_a_comment_of_its_own() -> None:
    assert is_finding_gone(USUAL, review(MOVED), "2")


def test_a_file_that_only_the_model_did_not_read() -> None:
    entry = SkippedFile.model_validate({"path": "a.py", "reason": "too large", "by_model": True})
    assert is_finding_gone(find(), review(not_looked_at=(entry,)))
    assert not SkippedFile.model_validate({"path": "a.py", "reason": "not read by the model: too large"}).by_model


@pytest.mark.parametrize("called_gone", [False, True])
def test_of_a_model_its_word_counts(called_gone: bool) -> None:
    said = find("correctness/logic", layer=Layer.model)
    assert is_finding_gone(said, review(), called_gone=called_gone) is called_gone


@pytest.mark.parametrize(
    ("changed", "read", "is_read"),
    [
        (("a.md", "b.md"), ("b.md", "a.md"), True),
        (("a.md", "uv.lock"), ("a.md",), False),
        (("a.md", "b.md"), ("a.md",), False),
        (("a\\u202e.md",), ("a\\u202e.md",), False),  # another file may have the name that is shown
        ((), (), False),
    ],
)
def test_what_a_model_read_whole(changed: tuple[str, ...], read: tuple[str, ...], is_read: bool) -> None:
    assert review(changed=changed, read_by_model=read).is_read_by_model is is_read
