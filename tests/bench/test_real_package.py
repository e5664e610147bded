"""A run on a package that was not written here: boltons (BSD-3-Clause), with its own tests in the sandbox.

Its sdist is taken from the package index while this runs and is not kept. Model and GitHub are played, nothing else is.
"""

import hashlib
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from simulator.state import Issue, PullRequest, Repository
from tests.bench.measured_runs import open_measured, print_tokens
from tests.stories.driver import Story
from tests.toolchain import toolchain

PACKAGE = "boltons-26.2.0"
DIGEST = "d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c"
CODE = '''\
--- a/boltons/mathutils.py
+++ b/boltons/mathutils.py
@@ -122,3 +122,26 @@ def floor(x, options=None):


+def nearest(x, options):
+    """Return the integer or float from *options* that is nearest to *x*;
+    of two that are equally near, the lower one.
+
+    Args:
+        x (int or float): Number to be tested.
+        options (iterable): Iterable of arbitrary numbers (ints or
+          floats).
+
+    >>> VALID_CABLE_CSA = [1.5, 2.5, 4, 6, 10, 25, 35, 50]
+    >>> nearest(3.5, options=VALID_CABLE_CSA)
+    4
+    >>> nearest(2, options=VALID_CABLE_CSA)
+    1.5
+
+    """
+    options = sorted(options)
+    if not options:
+        raise ValueError("no options to compare to: %r" % x)
+    i = bisect.bisect_left(options, x)
+    return min(options[i - 1:i + 1], key=lambda option: abs(option - x))
+
+
 class Bits:
'''
TESTS = """\
--- a/tests/test_mathutils.py
+++ b/tests/test_mathutils.py
@@ -1,4 +1,4 @@
 from pytest import raises
-from boltons.mathutils import clamp, ceil, floor, Bits
+from boltons.mathutils import clamp, ceil, floor, nearest, Bits
 import math

@@ -146,2 +146,18 @@ def test_empty_bits_rejects_non_hex_inputs():
         with raises(AttributeError):
             Bits.from_hex(value)
+
+
+def test_nearest_basic():
+    assert nearest(VALID_BETWEEN, OPTIONS) == 247
+    assert nearest(VALID_UPPER, OPTIONS) == VALID_UPPER
+    assert nearest(2, [3, 1]) == 1
+
+
+def test_nearest_beyond_the_ends():
+    assert nearest(OUT_OF_RANGE_LOWER, OPTIONS) == 66
+    assert nearest(OUT_OF_RANGE_UPPER, OPTIONS) == 2399
+
+
+def test_nearest_of_nothing():
+    with raises(ValueError):
+        nearest(1, [])
"""
ADDED = 3  # tests
NOTES = """\
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -6,4 +6,8 @@ are named according to the [CalVer](https://calver.org) versioning
 scheme (`YY.MINOR.MICRO`).

+## Unreleased
+
+- Added `mathutils.nearest`, which rounds to the nearest of some options
+
 ## 26.2.0

"""
MENDED = """\
--- a/boltons/mathutils.py
+++ b/boltons/mathutils.py
@@ -143,3 +143,3 @@ def nearest(x, options):
     i = bisect.bisect_left(options, x)
-    return min(options[i - 1:i + 1], key=lambda option: abs(option - x))
+    return min(options[max(i - 1, 0):i + 1], key=lambda option: abs(option - x))

"""
_JUDGED: JsonValue = {
    "test": 1,
    "failure_class": "real_bug",
    "root_cause": "Below the lowest option the slice begins at -1 and is empty.",
    "suggested_fix": "Begin it at 0 at least.",
    "path": "boltons/mathutils.py",
    "line": 144,
    "confidence": 0.9,
}


async def test_an_improvement_of_a_real_package(tmp_path: Path) -> None:
    """Code, tests and a note; what the implementer got wrong the package's tests find, and the second diff mends."""
    files = _files(tmp_path)
    before, seconds = _tests_by_hand(files, tmp_path / "by hand")
    async with open_measured(tmp_path / "forge", _model()) as (told, watched):
        repository, alice = told.repository(files, "octo-org/boltons")
        words = "mathutils has ceil and floor for a list of options, but nothing that rounds to the nearest of them."
        issue = await alice.open_issue(repository, "mathutils: the nearest option", words)
        await told.settle()
        began = time.perf_counter()
        await alice.comment(issue, "/forge run")
        await told.settle()
        assert told.gates(issue) == ["architecture_approval"]
        await alice.comment(issue, "/forge approve")
        await told.settle()
        [pull] = [each for each in repository.issues.values() if isinstance(each, PullRequest)]
        _assert_carried_out(told, repository, issue, pull, before)
        run = next(each for each in await told.runs() if each.trigger == "issue")
        assert (run.state, run.reason) == ("completed", "proposed")
        tests = watched.sum_seconds(await told.runs(), began)["tests in the sandbox"]
        print(f"\n\n{PACKAGE}: {len(files)} files, {before} tests of its own, {ADDED} added")
        print(f"in the sandbox, all tests twice and the failed one again: {tests:.1f} s; by hand once: {seconds:.1f} s")
        print_tokens(watched.calls, repository, issue, pull)


def _assert_carried_out(told: Story, repository: Repository, issue: Issue, pull: PullRequest, before: int) -> None:
    """One commit per task and one that mends; the last head passes every test of the package and the new ones."""
    commits = repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert [each.message.partition("\n")[0] for each in commits] == [
        "Add mathutils.nearest",
        "Note it in the changelog",
        "Fix failing tests",
    ]
    assert [each.path for each in repository.git.diff(pull.base_sha, pull.head_sha)] == [
        "CHANGELOG.md",
        "boltons/mathutils.py",
        "tests/test_mathutils.py",
    ]
    [failed] = told.github.check_runs(repository, commits[1].sha, "Forge / test")
    assert (failed.conclusion, failed.title) == ("failure", "1 test failed")
    assert "tests/test_mathutils.py::test_nearest_beyond_the_ends" in (failed.summary or "")
    [passed] = told.github.check_runs(repository, pull.head_sha, "Forge / test")
    assert (passed.conclusion, passed.title) == ("success", f"Passed: {before + ADDED} tests")
    assert told.check(repository, pull.head_sha).conclusion == "success"
    assert not pull.draft
    assert f"- Tests: Passed: {before + ADDED} tests" in (pull.body or "")
    assert any(f"#{pull.number}" in each.body for each in told.answers(issue))
    told.questions(issue)
    told.comments(pull)


# --- the model ---------------------------------------------------------------------------------------------


def _model() -> ScriptedModel:
    """Looks at the code, plans two tasks and carries them out; a test fails, which it mends."""
    look = Uses([("read_file", {"path": "boltons/mathutils.py"}), ("grep", {"pattern": "def (ceil|floor)"})])
    model = ScriptedModel()
    model.when("== issue ", look, _plan())
    model.when("== your task: T1", _patch(CODE, TESTS), _report_done("`nearest` is there.", "tests/test_mathutils.py"))
    model.when("== your task: T2", _patch(NOTES), _report_done("The changelog names it."))
    model.when("== what failed", {"failures": [_JUDGED]})
    return model.when("== your task: mend", _patch(MENDED), _report_done("The slice begins at 0 at least."))


def _patch(*diffs: str) -> Uses:
    return Uses([("apply_patch", {"diff": diff}) for diff in diffs])


def _report_done(summary: str, *tests: str) -> dict[str, JsonValue]:
    return {"summary": summary, "is_done": True, "tests_added": [*tests]}


def _plan() -> dict[str, JsonValue]:
    plan: dict[str, JsonValue] = {
        "summary": "mathutils rounds to the nearest option.",
        "decisions": [{"decision": "Of two as near, the lower one.", "reason": "It is the first one."}],
        "tasks": [
            _task("T1", "Add mathutils.nearest", ["boltons/mathutils.py", "tests/test_mathutils.py"]),
            _task("T2", "Note it in the changelog", ["CHANGELOG.md"], "T1"),
        ],
        "risk": {"level": "high", "reasons": ["It adds to what others may call."]},  # so all tests are run
        "estimate": {"lines": 45, "minutes": 10},
        "allowed_areas": ["boltons/**", "tests/**", "CHANGELOG.md"],
    }
    return {"plan": plan, "questions": []}


def _task(name: str, title: str, files: list[JsonValue], *after: str) -> JsonValue:
    return {
        "id": name,
        "title": title,
        "description": f"{title}, as its neighbours are.",
        "files": files,
        "depends_on": [*after],
        "acceptance": "All tests pass.",
    }


# --- the package -------------------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, bytes]:
    """What the sdist holds; only the very file this was written for is taken."""
    name, _, version = PACKAGE.partition("-")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    done = subprocess.run([*command, "--dest", folder, f"{name}=={version}"], capture_output=True, check=False)
    archive = folder / f"{PACKAGE}.tar.gz"
    if done.returncode or not archive.exists():
        pytest.skip(f"{PACKAGE} could not be had from the package index")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == DIGEST
    files: dict[str, bytes] = {}
    with tarfile.open(archive) as members:
        for member in members:
            content = members.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name.removeprefix(f"{PACKAGE}/")] = content.read()
    return files


def _tests_by_hand(files: dict[str, bytes], folder: Path) -> tuple[int, float]:
    """How many tests of the package pass, as pytest says where Forge has no part in it, and the seconds they take."""
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    command = [toolchain() / "bin" / "python3", "-m", "pytest", "-q"]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    [passed] = re.findall(r"^(\d+) passed in ", done.stdout, re.MULTILINE)
    return int(passed), seconds
