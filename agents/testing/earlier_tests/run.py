"""STAND-IN until the engine is there: runs removed or rewritten pytest tests as they were."""

from datetime import UTC, datetime

from agents.testing.command_detection import ProjectCommand  # noqa: F401
from agents.testing.tester import Tester
from domain.github.commits import Signature
from domain.paths import is_test
from domain.review.changes import Change
from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierOutcome, EarlierTest, EarlierTests, Fate
from domain.runs.patches import ChangedFile, ChangeSet
from workspace import commits


def touches_tests(change: Change) -> bool:
    return any(is_test(path) for file in change.files for path in (file.path, file.old_path) if path)


async def run_earlier_tests(tester: Tester, change: Change) -> EarlierTests:
    if not touches_tests(change):
        return NOTHING_EARLIER
    paths = sorted({file.old_path or file.path for file in change.files if is_test(file.path) and file.old_blob})
    base = await tester.mirror.read(change.merge_base, paths)
    head = await tester.mirror.read(change.head_sha, paths)
    files = tuple(
        ChangedFile(path=p, before=head.get(p), after=base[p])
        for p in paths
        if head.get(p) != base.get(p) and p in base
    )
    if not files:
        return NOTHING_EARLIER
    sha = await commits.commit_change(
        tester.mirror.git,
        change.head_sha,
        ChangeSet(files=files),
        "overlay",
        Signature(name="f", email="f@localhost"),
        datetime(2000, 1, 1, tzinfo=UTC),
    )
    over = await tester.test_named(await tester.mirror.change(sha, sha), paths)
    if over.not_run or not over.cases:
        return EarlierTests(not_run=(f"The tests of before could not be run: {over.not_run or 'no report'}",))
    now = (
        await tester.test_named(
            await tester.mirror.change(change.head_sha, change.head_sha), [p for p in paths if p in head]
        )
        if head
        else None
    )
    there = {case.id: case.outcome for case in now.cases} if now else {}
    told = []
    for case in over.cases:
        if not case.outcome.is_bad:
            continue
        at_head = there.get(case.id)
        text = f"{case.message}\n{case.details}"
        gone = "ImportError" in text or "has no attribute" in text or "ModuleNotFound" in text
        outcome = (
            EarlierOutcome.gone
            if gone
            else EarlierOutcome.changed
            if at_head == "passed"
            else EarlierOutcome.open
            if at_head in {"failed", "error"}
            else EarlierOutcome.lost
        )
        name = case.id.split("::")[-1]

        def asserts(content):
            lines = (content or b"").decode().splitlines()
            start = next((i for i, l in enumerate(lines) if f"def {name}(" in l), 0)
            return start + 1, tuple(l.strip() for l in lines[start : start + 6] if "assert" in l)[:1]

        path = case.path or paths[0]
        line, demanded = asserts(base.get(path))
        hline, nowd = asserts(head.get(path))
        told.append(
            EarlierTest(
                id=case.id,
                path=path,
                line=line,
                outcome=outcome,
                fate=Fate.rewritten if at_head == "passed" else Fate.skipped if at_head else Fate.removed,
                demanded=demanded,
                now=nowd if at_head else (),
                output=text[-1000:],
                names=(name.replace("test_", ""),) if gone else (),
                head_path=path if at_head else None,
                head_line=hline if at_head else None,
            )
        )
    return EarlierTests(tests=tuple(told), holding=sum(c.outcome == "passed" for c in over.cases), seconds=1.0)
