"""The table of the verbs of ``/forge``: how each is written, who may use it, and what follows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from domain.gates import STANDARD_GATES
from domain.review.effort import Effort
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
    legitimate = "legitimate"
    violation = "violation"
    needs_review = "needs-review"
    whitelist = "whitelist"
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
    :param arguments: a regular expression for what follows the verb; ``{finding}`` stands for the id of a finding.
    :param works: whether this version executes it.
    """

    usage: str
    meaning: str
    role: RequiredRole = RequiredRole()
    arguments: str = ""
    effects: frozenset[Effect] = frozenset()
    works: bool = True

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
_JUDGED = rf"{OPTIONAL_FINDING}(?P<justification>.+)?"
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

VERBS: Mapping[Verb, VerbRow] = {
    Verb.help: VerbRow("help [VERB]", "all commands, or one", _READ, _ABOUT_VERB, _READS),
    Verb.status: VerbRow("status", "what Forge is doing here and what it waits for", _READ, effects=_READS),
    Verb.cost: VerbRow("cost", "what was spent here, and what is left", _READ, effects=_READS),
    Verb.view: VerbRow("view [GATE]", "the last verdict with its reasons and open findings", _READ, _GATE, _READS),
    Verb.history: VerbRow(
        "history [F-ID or GATE]",
        "every run here and how it ended, with those of the issue's pull request or the pull request's issue; what the "
        "newest one tried, turn by turn. Of findings of giving up: what their detector found here before, and what "
        "became of it",
        _READ,
        _LOOKED_AT,
        _READS,
    ),
    Verb.diff: VerbRow(
        "diff [F-ID or GATE]",
        "what Forge changed here: its commits and their diff; of findings: their files before and after",
        _READ,
        _LOOKED_AT,
        _READS,
    ),
    Verb.level: VerbRow(
        "level [N]", "the automation level, from 0 to 4", RequiredRole("read", to_set="admin"), "(?P<level>[0-4])?"
    ),
    Verb.why: VerbRow("why F-ID", "what led to a finding, and what dismissals make of it", _READ, "{finding}"),
    Verb.review: VerbRow(
        "review [full or EFFORT]",
        "review this head; `full`: from scratch; the same with an effort of its own: `low`, `standard`, `deep`",
        _RUNS_CODE,
        f"(?i:(?:(?P<full>full)|(?P<effort>{'|'.join(Effort)}))?)",
    ),
    Verb.test: VerbRow("test", "run the tests of this head", _RUNS_CODE),
    Verb.explain: VerbRow("explain F-ID", "a finding in more words", _TRIAGE, "{finding}"),
    Verb.ask: VerbRow(
        "ask QUESTION",
        "answer a question from the code: of this head, in an issue of the default branch",
        arguments=_TEXT,
    ),
    Verb.dismiss: VerbRow(
        "dismiss F-ID reason",
        "the finding is wrong or not wanted: do not raise it again",
        _TEACHES,
        "{finding}(?P<reason>.+)",
        _JUDGES,
    ),
    Verb.undismiss: VerbRow("undismiss F-ID", "take a dismissal back", arguments="{finding}", effects=_JUDGES),
    Verb.remember: VerbRow(
        "remember text or M-ID",
        "teach Forge something, or keep what it proposes",
        _TEACHES,
        _TEXT,
    ),
    Verb.forget: VerbRow("forget M-ID", "make Forge forget it", _TEACHES, f"(?P<memory>M-{_ULID})", _JUDGES),
    Verb.fix: VerbRow(
        "fix F-ID or all",
        "propose a change that fixes a finding; `all`: one commit with what can be fixed of the open findings",
        arguments=rf"(?:(?P<everything>(?i:all)){_END}|{{finding}})",
    ),
    Verb.do: VerbRow(
        "do INSTRUCTION",
        "carry out what you ask for on this pull request, as a commit on its branch; in a review thread it is about "
        "that thread's lines",
        arguments=_TEXT,
    ),
    Verb.mend: VerbRow(
        "mend [ANSWER]",
        "say why checks of this pull request are red, of any App, and mend what its change broke; looked at again, at "
        "most twice; `ANSWER`: to what was asked",
        arguments=f"(?:{_TEXT})?",
    ),
    Verb.update: VerbRow(
        "update [ANSWER]",
        "take the base into this pull request's branch; what conflicts is resolved where it is clear, and else asked; "
        "`ANSWER`: what to do about what was asked",
        arguments=f"(?:{_TEXT})?",
    ),
    Verb.address: VerbRow(
        "address",
        "do what the open review threads of people ask for, one after the other; each is answered with its commit or "
        "with why not",
    ),
    Verb.run: VerbRow(
        "run [MODE]",
        "plan this issue, carry it out and open a pull request; in a mode of its own: `deterministic`, `interactive`",
        arguments=f"(?i:(?P<mode>{'|'.join(get_args(ExecutionMode))})?)",
    ),
    Verb.plan: VerbRow("plan", "plan this issue, nothing more"),
    Verb.retry: VerbRow(
        "retry [recovery]",
        "run the failed phase again; at the gate `recovery`: let the agent try anew",
        arguments="(?P<gate>recovery)?",
    ),
    Verb.resume: VerbRow("resume", "go on from the last checkpoint"),
    Verb.cancel: VerbRow("cancel", "stop the run, keep what it has so far"),
    Verb.more: VerbRow(
        "continue 5usd or 10it", "grant another slice of money or iterations", arguments=_SLICE, effects=_ANSWERS
    ),
    Verb.approve: VerbRow(
        "approve [GATE] [SHA7] [with: conditions]", "let the gate pass", _AT_GATE, _APPROVED, _DECIDES
    ),
    Verb.reject: VerbRow("reject [GATE] reason", "stop at the gate", _AT_GATE, _REJECTED, _DECIDES),
    Verb.delegate: VerbRow(
        "delegate [GATE] @account or agent",
        "let somebody else decide; at the gate `recovery`, `agent`: let another agent do it",
        _AT_GATE,
        rf"{_GATE}(?:@(?P<account>[A-Za-z0-9][A-Za-z0-9_-]{{0,99}})|(?P<to>agent))",
        _ANSWERS,
    ),
    Verb.suggest: VerbRow("suggest [GATE]", "what could be done instead", _READ, _GATE, _READS),
    Verb.legitimate: VerbRow(
        "legitimate [F-ID] justification",
        "a finding of giving up is wrong; with the role write, but not of the author, it counts no more, else others "
        "are asked",
        _READ,
        _JUDGED,
        _JUDGES,
    ),
    Verb.violation: VerbRow(
        "violation [F-ID] justification",
        "a finding of giving up is right: it blocks until it is mended",
        _TEACHES,
        _JUDGED,
        _JUDGES,
    ),
    Verb.needs_review: VerbRow(
        "needs-review [F-ID] [question]",
        "ask the author about a finding of giving up, and others to judge it",
        _TEACHES,
        _JUDGED,
        _JUDGES,
    ),
    Verb.whitelist: VerbRow(
        "whitelist F-ID file or repository justification",
        "a finding of giving up is wrong, and such findings pass in this file, or with the role maintain everywhere "
        "here, for 90 days",
        _TEACHES,
        r"{finding}(?P<scope>file|repository)[ \t]+(?P<justification>.+)",
        _JUDGES,
    ),
    Verb.accept: VerbRow("accept", "at a guard or budget: end with what there is so far", effects=_ANSWERS),
    Verb.abort: VerbRow("abort", "end the run and clean up"),
    Verb.missed: VerbRow(
        "missed description", "report a critical bug Forge did not see", arguments=_TEXT, effects=_COUNTS
    ),
    Verb.rollback: VerbRow(
        "rollback C-ID [PATH …] or ENV",
        "take an agent's work back to a checkpoint, all of it or only these files; or an environment to what ran there "
        "before",
        _DEPLOYS,
        rf"(?:(?P<checkpoint>C-{_ULID})(?:[ \t]+(?P<paths>.+))?|(?!C-){_ENVIRONMENT})",
    ),
    Verb.deploy: VerbRow(
        "deploy ENV [hold, go-on or cancel]",
        "deploy what was merged, on an issue the default branch; or hold what is being deployed, let it go on, end it",
        _DEPLOYS,
        rf"{_ENVIRONMENT}(?:[ \t]+(?P<wish>hold|go-on|cancel))?",
    ),
    Verb.pause: VerbRow(
        "pause [here]", "stop everything in this repository now; `here`: leave this place alone", _PAUSES, _HERE
    ),
    Verb.unpause: VerbRow("unpause [here]", "let Forge work again", _PAUSES, _HERE),
    Verb.describe: VerbRow(
        "describe [apply]",
        "propose a title and a description for this pull request; `apply`: set what was proposed",
        RequiredRole(or_author=True),
        "(?i:(?P<apply>apply)?)",
    ),
    Verb.tests: VerbRow(
        "tests [PATH]",
        "write tests for what this pull request, or one file of it, leaves untested, as a commit on its branch",
        arguments="(?P<path>.+)?",
    ),
    Verb.changelog: VerbRow("changelog", "add the entry of this pull request to the repository's changelog"),
    Verb.walkthrough: VerbRow("walkthrough", "explain this pull request part by part, in the order to read it"),
}

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
)
"""What people write in place of a verb, as the beginning of a line in small letters."""

COMMON = (
    Verb.review,
    Verb.ask,
    Verb.explain,
    Verb.dismiss,
    Verb.fix,
    Verb.do,
    Verb.address,
    Verb.mend,
    Verb.update,
    Verb.run,
)
"""What people use most, in the order of a pull request's life; `help` folds the others."""
