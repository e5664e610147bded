"""Every text about tests that were written and run to show a model's findings."""

from collections.abc import Mapping, Sequence

from domain.review.findings import LONGEST_REASON, Finding, Proof, ProofOutcome, Reproduction, Severity
from domain.text.escaping import code_block, escape, inline_code, inline_path, name_count, strip_invisible
from domain.text.redaction import redact_outgoing
from domain.verbs import Verb, find_role

TRYING_OUT = "Running a test for what the model claims"
NOT_LOADED = "the test that was written for it could not be loaded on this head"
FLAKY = "the test that was written for it ended differently each time"
ITS_OWN_FAULT = "the test that was written for it calls something that is not there, or not so"
WITHOUT_DEMAND = "the test that was written for it passes, but demands nothing of this code"
ONLY_WITH_ITS_SETTINGS = "the test that was written for it passes only with what this change does to the tests"
NEVER_THERE = "the test that was written for it passes, but nothing shows that it comes to this line"
TOO_LONG = "running a test for it took too long"
NO_TIME = "no time was left to run a test for it"
HOLDS_CREDENTIAL = "the test that was written for it holds what looks like a credential"
IS_TOO_LONG = "the test that was written for it is too long"
NO_TESTS = "Forge does that beside a test of Python or JavaScript, and found none for this file that it can run"
ACTIONS = "the repository's own workflows run its tests (`testing.runner: actions`)"
UNASKED_FORK = (
    f"Forge runs nothing of a fork before somebody with the role {find_role(Verb.review, on_fork=True)} lets it: "
    "`/forge review` does"
)
WITHOUT_SERVER = "only the App writes and runs tests"
PASSES = "the test that was written to show it passes on this head"
BEFORE_SAME = "fails in the same way"
BEFORE_OTHERWISE = "fails in another way"
BEFORE_VARIES = "ends differently each time"
BEFORE: Mapping[str, str] = {
    "passed": "passes",
    "not_loaded": "cannot be loaded",
    "not_run": "could not be run",
    "failed": BEFORE_OTHERWISE,
}
_SHOWN_OUTPUT, _TOLD_OUTPUT, _MODEL_WORDS = 1_500, 400, 300  # characters


def explain_not_run(why: str) -> str:
    """That a test could not be run, as a clause."""
    return f"the test that was written for it could not be run: {why}"[:LONGEST_REASON]


def explain_declined(why: str) -> str:
    """That no test was written, as a clause.

    :param why: a sentence; may be empty.
    """
    told = f" ({why[:_MODEL_WORDS].rstrip('.')})" if why else ""
    return f"none was written for it{told}"


def explain_before(before: str) -> str:
    """That a test fails on the head, but does not show that the change is why."""
    return f"the test that was written for it fails here, and without the change it {before}"


def explain_look(where: str) -> str:
    """That a test passes on code that may know that a test runs it, as a clause.

    :param where: a path, with a line.
    """
    told = f"the test that was written for it passes, but new code at {where} may look at what runs it"
    return told[:LONGEST_REASON]


def describe_goal(finding: Finding, *, shows_output: bool) -> str:
    """A finding for whoever fixes it, with the test that shows it.

    :param shows_output: whether they may see what the test printed.
    """
    test = find_shown_test(finding)
    if test is None:
        return finding.message
    printed = f"\n\nIt printed:\n{test.output}" if shows_output and test.output else ""
    return (
        f"{finding.message}\n\nThis test shows it, run as {test.path}, which is not in the repository. It has to pass "
        f"because the cause is mended, not because the code knows the test:\n{test.text}{printed}"
    )


def render_proof(finding: Finding) -> str:
    """What a comment says of the proof of its finding; empty where nothing was tried."""
    proof = finding.proof
    if proof is None:
        return ""
    match proof.outcome:
        case ProofOutcome.shown:
            head = "**Shown by running**: the test below fails with this change and passes without it."
        case ProofOutcome.promise_broken:
            promise = inline_code(proof.promise)
            head = f"**Shown by running**: the test below fails here, although {promise} promises otherwise."
        case ProofOutcome.refuted:
            head = f"**Tried by running**: {PASSES}, so this blocks nothing."
        case ProofOutcome.open:
            head = _tell_why_open(finding.severity, proof.why)
    shown = (
        "" if proof.reproduction is None or proof.outcome is ProofOutcome.open else _render(proof.reproduction, proof)
    )
    return "\n\n".join(filter(None, (head, shown)))


def find_shown_test(finding: Finding) -> Reproduction | None:
    """The test that shows a finding; None if none does."""
    return finding.proof.reproduction if finding.proof is not None and finding.proof.is_shown else None


def note_proof(finding: Finding) -> str:
    """The same in a few words, for a table."""
    if finding.proof is None or finding.proof.outcome is ProofOutcome.open:
        return ""
    return "Shown by running." if finding.proof.is_shown else f"Tried by running: {PASSES}."


def _tell_why_open(severity: Severity, why: str) -> str:
    """Why an error is not shown; of what does not block, nobody asks."""
    if severity.rank < Severity.error.rank:
        return ""
    return f"Not shown by running: {escape(why, LONGEST_REASON).rstrip('.')}."


def _render(test: Reproduction, proof: Proof) -> str:
    """The test, what it printed and how to run it, folded."""
    label = "The test that fails" if proof.is_shown else "The test that passes"
    printed = redact_outgoing(strip_invisible(test.output)).strip("\n")[-_SHOWN_OUTPUT:]
    parts = [
        f"As {inline_path(test.path)}, with {inline_code(test.command)}:",
        code_block(strip_invisible(test.text).strip("\n"), "python" if test.path.endswith(".py") else "js"),
        f"On {inline_code(proof.head_sha[:7])}:\n\n{code_block(printed)}" if printed.strip() else "",
        f"Without the change it {escape(test.before)}." if test.before else "",
    ]
    told = "\n\n".join(filter(None, parts))
    return f"<details><summary>{label}</summary>\n\n{told}\n\n</details>"


def summarise_proofs(proofs: Sequence[Proof], not_run: str) -> str:
    """What the check's details say, in a sentence or two; empty where no finding was worth a proof.

    :param not_run: why nothing could be run here, as a clause; empty if it could.
    """
    if not_run:
        return f"What the model claims was not run: {not_run}."
    if not proofs:
        return ""
    shown = sum(each.is_shown for each in proofs)
    refuted = sum(each.outcome is ProofOutcome.refuted for each in proofs)
    left = len(proofs) - shown - refuted
    said = [
        f"{name_count(shown, 'finding')} shown by running" if shown else "",
        f"{name_count(refuted, 'finding')} not borne out, because its test passes" if refuted else "",
        f"of {name_count(left, 'finding')} nothing could be shown" if left else "",
    ]
    seconds = sum(each.seconds for each in proofs)
    return f"Tests of what the model claims, run for {seconds:.0f} s: {', '.join(filter(None, said))}."


def summarise_repeated(passing: Sequence[str], failing: Sequence[str]) -> str:
    """What tests that showed findings on an earlier head say of this one; empty where none was run.

    :param passing: the names of the findings whose test passes, ``failing`` of those whose fails.
    """
    said = [f"the test of {name} passes" for name in passing] + [f"that of {name} still fails" for name in failing]
    return f"Run again, of what was shown before: {', '.join(said)}." if said else ""
