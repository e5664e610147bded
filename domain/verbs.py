"""The table of the verbs of ``/forge``: how each is written, who may use it, and what follows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from domain.gates import STANDARD_GATES
from domain.review.reading import Effort
from domain.runs.run import ExecutionMode


class Verb(StrEnum):
    """The verbs of ``/forge`` (docs/commands.md)."""

    help = "help"
    status = "status"
    cost = "cost"
    view = "view"
    history = "history"
    diff = "diff"
    level = "level"
    why = "why"
    review = "review"
    test = "test"
    explain = "explain"
    ask = "ask"
    dismiss = "dismiss"
    undismiss = "undismiss"
    confirm = "confirm"
    remember = "remember"
    forget = "forget"
    fix = "fix"
    do = "do"
    mend = "mend"
    update = "update"
    address = "address"
    run = "run"
    plan = "plan"
    retry = "retry"
    resume = "resume"
    cancel = "cancel"
    more = "continue"
    approve = "approve"
    reject = "reject"
    delegate = "delegate"
    suggest = "suggest"
    accept = "accept"
    abort = "abort"
    missed = "missed"
    rollback = "rollback"
    deploy = "deploy"
    pause = "pause"
    unpause = "unpause"
    describe = "describe"
    tests = "tests"
    changelog = "changelog"
    walkthrough = "walkthrough"


@dataclass(frozen=True)
class RequiredRole:
    """The least role for a verb, and the cases that need another one. An empty one means there is no such case.

    :param not_author: the author of the change may not use it.
    :param on_fork: the role while nobody with write permission has allowed Forge to run this head of a fork.
    :param to_set: the role for setting a value; showing it needs ``least``.
    :param in_production: the role where production is concerned.
    :param here: the role for the place where it is written alone.
    :param is_gates: the gate names the role.
    :param or_author: whoever opened the pull request may use it, whatever their role.
    """

    least: str = "write"
    not_author: bool = False
    on_fork: str = ""
    to_set: str = ""
    in_production: str = ""
    here: str = ""
    is_gates: bool = False
    or_author: bool = False


class Effect(StrEnum):
    """What Forge does after it executed a verb, or may leave out before it."""

    reads_only = "reads_only"  # it changes nothing, so Forge may execute it twice
    answers_gate = "answers_gate"  # the gate decides who may; the waiting run is resumed
    judges_findings = "judges_findings"  # if allowed: the waiting run is resumed, the automation level evaluated again
    counts_for_level = "counts_for_level"  # the automation level is evaluated again


@dataclass(frozen=True)
class VerbRow:
    """All that help, docs, parser, authorisation and execution know about one verb.

    :param usage: what may follow ``/forge``, for people.
    :param example: of what follows it; empty: the verb alone.
    :param then: what happens then, as sentences; empty where the meaning says it.
    :param arguments: a regular expression for what follows the verb; ``{finding}`` stands for the id of a finding.
    """

    usage: str
    meaning: str
    role: RequiredRole = RequiredRole()
    arguments: str = ""
    effects: frozenset[Effect] = frozenset()
    example: str = ""
    then: str = ""

    @property
    def needs_finding(self) -> bool:
        """Whether it needs the id of a finding outside of the finding's own thread."""
        return "{finding}" in self.arguments


_ULID_END = "[0-9A-HJKMNP-TV-Z]{6}"
_ULID = f"(?:[0-9A-HJKMNP-TV-Z]{{20}})?{_ULID_END}"  # or its end, as Forge shows it
_STANDARD = "|".join(STANDARD_GATES)
_END = r"(?:[ \t]+|(?=\n)|$)"
_SHA = "[0-9a-f]{7,64}"
_GATE = rf"(?:(?!{_SHA}{_END})(?P<gate>G-{_ULID_END}|[a-z][a-z0-9_-]{{0,49}}){_END})?"
_APPROVED = rf"{_GATE}(?:(?P<sha>{_SHA}){_END})?(?:with:[ \t]*(?P<conditions>.+))?"
_REJECTED = rf"(?:(?P<gate>G-{_ULID_END}|{_STANDARD}){_END})?(?P<reason>(?!(?:G-{_ULID_END}|{_STANDARD})$).+)"
_ENVIRONMENT = r"(?P<environment>[A-Za-z0-9][A-Za-z0-9_./-]{0,99})"
_SLICE = r"(?i:(?P<usd>[0-9]{1,4}(?:\.[0-9]{1,2})?)[ \t]*usd|(?P<iterations>[0-9]{1,3})[ \t]*it)"
_TEXT = "(?P<text>.+)"

FINDING = rf"(?P<finding>[Ff]-[A-Za-z2-7]{{6}}){_END}"
# In its own thread a finding needs no name. A name counts there only in capitals, so that "f-string" stays a word.
# What resembles a name and is none is not read as the beginning of a reason.
OPTIONAL_FINDING = rf"(?:(?P<finding>F-[A-Z2-7]{{6}}){_END})?(?!F-[^a-z \t]*{_END})"
_LOOKED_AT = rf"(?:{FINDING}|{_GATE})"

_ABOUT_VERB = rf"(?i:/?(?:forge[ \t]+)?(?P<about>{'|'.join(sorted(Verb, key=len, reverse=True))})?)"
_HERE = "(?i:(?P<here>here)?)"

_READ, _TRIAGE = RequiredRole("read"), RequiredRole("triage")
_PAUSES = RequiredRole("admin", here="write")
_RUNS_CODE = RequiredRole("triage", on_fork="write")
_TEACHES = RequiredRole(not_author=True)
_DEPLOYS = RequiredRole(in_production="maintain")
_AT_GATE = RequiredRole("", is_gates=True)

_READS = frozenset({Effect.reads_only})
_JUDGES = frozenset({Effect.judges_findings})
_ANSWERS = frozenset({Effect.answers_gate})
_DECIDES = frozenset({Effect.answers_gate, Effect.counts_for_level})
_COUNTS = frozenset({Effect.counts_for_level})

REPOSITORY_ROLE = STANDARD_GATES["destructive"].role
"""To let findings of the whole repository pass takes from people what ``destructive`` asks them."""

DISPUTING_ROLE = "triage"
"""Whoever has it may say that a finding is wrong, so that others are asked."""

VERBS: Mapping[Verb, VerbRow] = {
    Verb.help: VerbRow("help [VERB]", "all commands, or one", _READ, _ABOUT_VERB, _READS, example="help update"),
    Verb.status: VerbRow("status", "what Forge is doing here and what it waits for", _READ, effects=_READS),
    Verb.cost: VerbRow("cost", "what was spent here, and what is left", _READ, effects=_READS),
    Verb.view: VerbRow("view [GATE]", "the last verdict with its reasons and open findings", _READ, _GATE, _READS),
    Verb.history: VerbRow(
        "history [F-ID or GATE]",
        "every run here and how it ended, with those of the issue's pull request or the pull request's issue; what the "
        "newest one tried, step by step. Of a finding that says that a problem was avoided instead of solved: what "
        "the same rule found here before, and what became of it",
        _READ,
        _LOOKED_AT,
        _READS,
        then="A table of runs, the newest first.",
    ),
    Verb.diff: VerbRow(
        "diff [F-ID or GATE]",
        "what Forge changed here: its commits and their diff; of findings: the commit that fixed one, or else "
        "their lines before and after",
        _READ,
        _LOOKED_AT,
        _READS,
    ),
    Verb.level: VerbRow(
        "level [N]",
        "the automation level, from 0 to 4",
        RequiredRole("read", to_set="admin"),
        "(?P<level>[0-4])?",
        example="level 2",
        then="Without a number it says which level is set, and what Forge may do there.",
    ),
    Verb.why: VerbRow(
        "why F-ID", "what led to a finding, and what dismissals make of it", _READ, "{finding}", example="why F-AB2CDE"
    ),
    Verb.review: VerbRow(
        "review [full or EFFORT]",
        "review this head; `full`: from scratch; the same with an effort of its own: `low`, `standard`, `deep`",
        _RUNS_CODE,
        f"(?i:(?:(?P<full>full)|(?P<effort>{'|'.join(Effort)}))?)",
        example="review deep",
        then=(
            "The check `Forge / review` shows how far it is, and its verdict at the end. Findings are "
            "comments on lines."
        ),
    ),
    Verb.test: VerbRow(
        "test",
        "run the tests of this head",
        _RUNS_CODE,
        then="A check shows which tests ran and which failed. Nothing is changed.",
    ),
    Verb.explain: VerbRow("explain F-ID", "a finding in more words", _TRIAGE, "{finding}", example="explain F-AB2CDE"),
    Verb.ask: VerbRow(
        "ask QUESTION",
        "answer a question from the code of this pull request; on an issue, from that of the default branch",
        arguments=_TEXT,
        example="ask who calls arrival() without a date?",
        then="An answer that names the places in the code. Nothing is changed.",
    ),
    Verb.dismiss: VerbRow(
        "dismiss F-ID [file: or repository:] reason",
        "the finding is wrong or not wanted: do not raise it again; `file:`, `repository:` (role "
        f"{REPOSITORY_ROLE}): if it says that a problem was avoided instead of solved, let such findings pass there "
        "for 90 days",
        _TEACHES,
        r"{finding}(?>(?:(?P<scope>(?i:file|repository)):[ \t]*)?)(?P<reason>.+)",
        _JUDGES,
        example="dismiss F-AB2CDE the name is injected at run time",
        then=(
            "The finding counts no more, and Forge learns from your reason. `/forge undismiss` takes it back. Of a "
            f"finding that a problem was avoided instead of solved, authors and the role {DISPUTING_ROLE} have others "
            "asked."
        ),
    ),
    Verb.undismiss: VerbRow(
        "undismiss F-ID",
        "take back what was said about a finding",
        arguments="{finding}",
        effects=_JUDGES,
        example="undismiss F-AB2CDE",
    ),
    Verb.confirm: VerbRow(
        "confirm F-ID reason",
        "the finding that a problem was avoided instead of solved is right: it blocks until it is mended",
        _TEACHES,
        "{finding}(?P<reason>.+)",
        _JUDGES,
        example="confirm F-AB2CDE the test still matters",
    ),
    Verb.remember: VerbRow(
        "remember text or M-ID",
        "teach Forge something; `M-ID`: keep something that it proposes to learn",
        _TEACHES,
        _TEXT,
        example="remember we never log addresses of customers",
        then="Later reviews and changes of Forge here go by it.",
    ),
    Verb.forget: VerbRow(
        "forget M-ID",
        "make Forge forget something it learned",
        _TEACHES,
        f"(?P<memory>M-{_ULID})",
        _JUDGES,
        example="forget M-6SS27V",
    ),
    Verb.fix: VerbRow(
        "fix F-ID or all",
        "fix a finding in a commit on the branch; `all`: what can be fixed of the open findings, in one",
        arguments=rf"(?:(?P<everything>(?i:all)){_END}|{{finding}})",
        example="fix F-AB2CDE",
        then=(
            "Forge takes the fix that a tool knows, or has a model write one, runs the tests that concern it, and"
            " answers with the commit on the branch. Said again while that stands, it is done."
        ),
    ),
    Verb.do: VerbRow(
        "do INSTRUCTION",
        "make the change you describe, as a commit on this pull request's branch; in a review thread it is about that "
        "thread's lines",
        arguments=_TEXT,
        example="do let days_left return 0 when the parcel is late, with a test",
        then=(
            "Forge plans it, changes the files, runs the tests that concern them, and answers with the commit"
            " on the branch. What is unclear it asks first. The answer names the `/forge rollback` that takes"
            " the commit back."
        ),
    ),
    Verb.mend: VerbRow(
        "mend [ANSWER]",
        "find out why the build or another check is red here, and mend what this pull request broke; if it is still "
        "red once the checks ran again, Forge tries once more; `ANSWER`: to what was asked",
        arguments=f"(?:{_TEXT})?",
        then=(
            "Forge reads what the red checks say, and commits what mends the cause. Its answer is edited once"
            " the checks ran again, and says which pass now. What is red on the base branch, too, is left "
            "alone."
        ),
    ),
    Verb.update: VerbRow(
        "update [ANSWER]",
        "merge the base branch into this pull request, and resolve the conflicts that are clear; about the others it "
        "asks, and `ANSWER` says what to do",
        arguments=f"(?:{_TEXT})?",
        example="update keep both lines, ours first",
        then=(
            "A merge commit on the branch, and an answer that says how each conflict was resolved. Where it "
            "cannot tell what is meant, Forge commits nothing, shows the conflict and asks."
        ),
    ),
    Verb.address: VerbRow(
        "address",
        "do what people ask for in the open review threads; each thread is answered with its commit or with why not",
        then=(
            "Each open thread in which a person wrote last is answered in turn: with a commit, a question or "
            "why not. A comment here says at the end what became of each. People resolve the threads."
        ),
    ),
    Verb.run: VerbRow(
        "run [MODE]",
        "plan this issue, carry it out and open a pull request; in a mode of its own: `deterministic`, `interactive`",
        arguments=f"(?i:(?P<mode>{'|'.join(get_args(ExecutionMode))})?)",
        example="run interactive",
        then="Forge comments its plan on the issue, and links the pull request there once it is open.",
    ),
    Verb.plan: VerbRow(
        "plan", "plan this issue, nothing more", then="Forge comments its plan. `/forge run` carries it out."
    ),
    Verb.retry: VerbRow(
        "retry [recovery]",
        "run what failed again; `recovery`: where Forge asks for help because it is stuck, let it try anew",
        arguments="(?P<gate>recovery)?",
    ),
    Verb.resume: VerbRow("resume", "go on where the run stopped"),
    Verb.cancel: VerbRow(
        "cancel", "stop the run, keep what it has so far", then="What it made so far stays, and the answer says where."
    ),
    Verb.more: VerbRow(
        "continue 5usd or 10it",
        "let a run that a limit stopped go on: for so many USD more, or so many steps (`it`)",
        arguments=_SLICE,
        effects=_ANSWERS,
        example="continue 5usd",
    ),
    Verb.approve: VerbRow(
        "approve [GATE] [SHA7] [with: conditions]",
        "answer Forge's question with yes, so that the run goes on",
        _AT_GATE,
        _APPROVED,
        _DECIDES,
        example="approve with: add a test before it is merged",
        then="The comment of the question names who may answer, and until when.",
    ),
    Verb.reject: VerbRow(
        "reject [GATE] reason",
        "answer Forge's question with no, so that the run stops",
        _AT_GATE,
        _REJECTED,
        _DECIDES,
        example="reject it changes the public interface",
    ),
    Verb.delegate: VerbRow(
        "delegate [GATE] @account or agent",
        "let somebody else answer; `agent`: where Forge is stuck, let another agent do it",
        _AT_GATE,
        rf"{_GATE}(?:@(?P<account>[A-Za-z0-9][A-Za-z0-9_-]{{0,99}})|(?P<to>agent))",
        _ANSWERS,
        example="delegate @maria",
    ),
    Verb.suggest: VerbRow("suggest [GATE]", "what could be done instead", _READ, _GATE, _READS),
    Verb.accept: VerbRow("accept", "where a limit stopped a run: end it with what there is so far", effects=_ANSWERS),
    Verb.abort: VerbRow("abort", "end the run and clean up"),
    Verb.missed: VerbRow(
        "missed description",
        "report a critical bug Forge did not see",
        arguments=_TEXT,
        effects=_COUNTS,
        example="missed the total is wrong for two discounts",
        then="It counts when Forge decides how much it may do alone here.",
    ),
    Verb.rollback: VerbRow(
        "rollback C-ID [PATH …] or ENV",
        "take back what Forge committed, all of it or only these files; or bring an environment back to what ran there "
        "before",
        _DEPLOYS,
        rf"(?:(?P<checkpoint>C-{_ULID})(?:[ \t]+(?P<paths>.+))?|(?!C-){_ENVIRONMENT})",
        example="rollback C-6SS27V",
        then=(
            "A commit that reverts it, on top of what was pushed since. Each answer about a commit of Forge "
            "names its `C-…`."
        ),
    ),
    Verb.deploy: VerbRow(
        "deploy ENV [hold, go-on or cancel]",
        "deploy what was merged (on an issue: the default branch); or hold, continue or end what is being deployed",
        _DEPLOYS,
        rf"{_ENVIRONMENT}(?:[ \t]+(?P<wish>hold|go-on|cancel))?",
        example="deploy staging",
        then="A comment here shows how far the deployment is.",
    ),
    Verb.pause: VerbRow(
        "pause [here]",
        "stop everything in this repository now; `here`: leave this place alone",
        _PAUSES,
        _HERE,
        example="pause here",
        then=(
            "What runs is stopped. Without `here`, that is everything in the repository. `/forge unpause` "
            "lets Forge work again."
        ),
    ),
    Verb.unpause: VerbRow("unpause [here]", "let Forge work again", _PAUSES, _HERE, example="unpause here"),
    Verb.describe: VerbRow(
        "describe [apply]",
        "propose a title and a description for this pull request; `apply`: set what was proposed",
        RequiredRole(or_author=True),
        "(?i:(?P<apply>apply)?)",
        then="A comment with the proposal. `/forge describe apply` sets it.",
    ),
    Verb.tests: VerbRow(
        "tests [PATH]",
        "write tests for what this pull request, or one file of it, leaves untested, as a commit on its branch",
        arguments="(?P<path>.+)?",
        example="tests shop/cart.py",
        then=(
            "A commit with tests that pass with this pull request's change and fail without it, and an answer"
            " that says how much of the change they run."
        ),
    ),
    Verb.changelog: VerbRow("changelog", "add the entry of this pull request to the repository's changelog"),
    Verb.walkthrough: VerbRow("walkthrough", "explain this pull request part by part, in the order to read it"),
}


def find_role(verb: Verb, *, on_fork: bool = False) -> str:
    """The least role for a verb that needs one of its own."""
    needed = VERBS[verb].role
    return needed.on_fork if on_fork else needed.least


INSTRUCTING = frozenset({Verb.ask, Verb.do, Verb.mend, Verb.update})
"""The verbs whose words a model reads as they were written, line by line."""

MEANT: tuple[tuple[Verb, str], ...] = (
    (Verb.rollback, r"undo|revert|roll back|take \w+ back"),
    (Verb.address, r"(?:resolve|answer) .*\b(?:threads?|comments?|conversations?|feedback)|reply"),
    (Verb.update, r"resolve|rebase|sync|pull|merge (?:in )?(?:the )?(?:main|master|base|trunk|conflicts?)"),
    (Verb.update, r"(?:fix|solve) .*\bconflicts?"),
    (Verb.mend, r"green|(?:make|get|turn) .*\b(?:green|pass)"),
    (Verb.mend, r"(?:fix|repair|unbreak) .*\b(?:red|build|ci|checks?|pipeline|jobs?|tests?)"),
    (Verb.tests, r"(?:write|add|create|generate) .*\btests?"),
    (Verb.describe, r"summari[sz]e|summary|description|title"),
    (Verb.cancel, r"stop|halt"),
    (Verb.dismiss, r"legitimate|false[ -]positive|false alarm|whitelist|ignore|suppress|mute|wontfix"),
    (Verb.confirm, r"violation|true[ -]positive"),
)
"""What people write in place of a verb, as the beginning of a line in small letters."""


class HelpSubject(StrEnum):
    """What verbs are about, in the order of ``help``."""

    pull_request = "On a pull request"
    issue = "On an issue"
    findings = "About findings"
    questions = "To answer what Forge asks people"
    runs = "About what runs"
    looks = "To look something up"
    learning = "About what Forge learns"
    deployments = "About deployments"


SUBJECTS: Mapping[HelpSubject, tuple[Verb, ...]] = {
    HelpSubject.pull_request: (
        *(Verb.do, Verb.update, Verb.mend, Verb.tests, Verb.address, Verb.fix, Verb.review, Verb.rollback, Verb.ask),
        *(Verb.describe, Verb.walkthrough, Verb.changelog, Verb.test),
    ),
    HelpSubject.issue: (Verb.run, Verb.plan),
    HelpSubject.findings: (*(Verb.explain, Verb.why, Verb.dismiss, Verb.undismiss, Verb.confirm, Verb.missed),),
    HelpSubject.questions: (Verb.approve, Verb.reject, Verb.delegate, Verb.suggest, Verb.more, Verb.accept),
    HelpSubject.runs: (Verb.cancel, Verb.retry, Verb.resume, Verb.abort, Verb.pause, Verb.unpause),
    HelpSubject.looks: (Verb.help, Verb.status, Verb.view, Verb.history, Verb.diff, Verb.cost, Verb.level),
    HelpSubject.learning: (Verb.remember, Verb.forget),
    HelpSubject.deployments: (Verb.deploy,),
}
"""Each verb once; those come first that people use most."""

FIRST = SUBJECTS[HelpSubject.pull_request][:10]
"""What people come for on a pull request, in that order; `help` folds the others."""

FIRST_ON_ISSUE = (*SUBJECTS[HelpSubject.issue], Verb.ask, Verb.status, Verb.cancel)
"""The same on an issue."""
