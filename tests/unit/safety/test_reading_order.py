"""Which files of a change a model reads first."""

from domain.review.changes import ChangeStatus, FileChange
from domain.review.findings import RawFinding, Severity
from safety.impact import list_riskiest, rank
from tests.unit.checks.findings import build_raw_finding


def _file(path: str, old_path: str | None = None) -> FileChange:
    return FileChange(path=path, old_path=old_path, status=ChangeStatus.modified)


def _finding(path: str, severity: Severity) -> RawFinding:
    return build_raw_finding(path=path, severity=severity)


FILES = [_file(path) for path in ("a.py", "tests/test_a.py", "vault/keys.py", "z.py", "b.py", "src/billing/pay.py")]


def test_sensitive_files_and_those_with_an_error_come_first_and_tests_last():
    found = [_finding("z.py", Severity.error), _finding("b.py", Severity.warning)]
    riskiest = list_riskiest(FILES, found, ["vault/**"])
    assert riskiest == {"vault/keys.py", "z.py", "src/billing/pay.py"}
    ordered = [file.path for file in sorted(FILES, key=lambda file: rank(file, riskiest))]
    assert ordered == ["src/billing/pay.py", "vault/keys.py", "z.py", "a.py", "b.py", "tests/test_a.py"]


def test_a_file_that_left_a_sensitive_place_is_one_of_the_riskiest():
    assert list_riskiest([_file("keys.py", old_path="vault/keys.py")], [], ["vault/**"]) == {"keys.py"}


def test_a_test_with_an_error_is_read_before_other_source():
    riskiest = list_riskiest(FILES, [_finding("tests/test_a.py", Severity.critical)], [])
    assert rank(_file("tests/test_a.py"), riskiest) < rank(_file("a.py"), riskiest)
