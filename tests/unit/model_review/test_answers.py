"""What people get to see of a model's answer: anchored on what it saw, of the closed list, bounded, said once."""

from collections.abc import Mapping, Sequence

import pytest
from pydantic import JsonValue

from agents.llm.ask import ModelAnswer, Question, ask
from agents.llm.scripted import ScriptedModel
from agents.prompts import load_prompt
from agents.review.effort import EFFORTS
from agents.review.model.answers import RULES, Report, extract_findings, read_earlier_verdicts
from agents.review.model.questions import EarlierFinding, build_questions
from agents.review.model.related import RelatedCode
from agents.review.model.second_look import Verdicts, build_second_look, keep_confirmed
from domain.review.avoidance import CERTAIN
from domain.review.findings import Category, Harm, Layer, MetBy, RawFinding, Severity, grade
from domain.review.reading import Effort
from tests.purses import OpenPurse
from tests.unit.checks.building import change_of
from tests.unit.checks.findings import build_raw_finding

BASE = "\n".join(f"old_{n} = {n}" for n in range(1, 61)) + "\n"
NEW = [
    "def pay(till, amount):",
    "    rate = till.rate",
    "    share = amount / rate",
    "    till.total += share",
    "    return share",
    "",
    "def again(till):",
    "    rate = till.rate",
]
HEAD = "\n".join([*BASE.split("\n")[:30], *NEW, *BASE.split("\n")[30:]])
CHANGE, VERSIONS = change_of({"shop/till.py": (BASE, HEAD)})
DIVISION = 33  # the line of the division


def claim(**changes: JsonValue) -> dict[str, JsonValue]:
    usual: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": "shop/till.py",
        "line": DIVISION,
        "end_line": DIVISION,
        "quote": "    share = amount / rate",
        "message": "A rate of 0 raises ZeroDivisionError; refuse it before dividing.",
        "trace": "pay divides by till.rate, which nothing checks.",
        "trigger": "`pay` with a rate of 0: ZeroDivisionError, for whoever opens a till.",
        "harm": "crash",
        "met_by": "caller",
        "confidence": 0.9,
    }
    return usual | changes


def parse_findings(
    *claims: JsonValue, known: Sequence[RawFinding] = (), earlier: Sequence[EarlierFinding] = ()
) -> tuple[RawFinding, ...]:
    (question,) = build_questions(CHANGE, VERSIONS, known, earlier=earlier).questions
    value = Report.model_validate({"findings": list(claims)}).model_dump(mode="json")
    return extract_findings(ModelAnswer(key="k", value=value), question, CHANGE, VERSIONS, known)


def build_known(line: int, **differs: object) -> RawFinding:
    return build_raw_finding(path="shop/till.py", line=line, **differs)


def test_a_claim_becomes_a_finding():
    (finding,) = parse_findings(claim(replacement="    share = amount / (rate or 1)"))

    assert (finding.rule, finding.category, finding.severity) == (
        "model/logic-error",
        Category.correctness,
        Severity.error,
    )
    assert (finding.path, finding.line, finding.end_line, finding.layer) == ("shop/till.py", 33, 33, Layer.model)
    assert finding.fix is not None
    assert (finding.fix.start_line, finding.fix.replacement) == (33, "    share = amount / (rate or 1)")


GOOD_ANCHORS: list[dict[str, JsonValue]] = [
    {},
    {"quote": "share = amount / rate"},
    {"quote": "33+    share = amount / rate"},
    {"quote": "+    share = amount / rate"},
    {"quote": "    share = amount / rate\n    till.total += share"},
    {"line": 35, "end_line": 35},
    {"line": 20, "end_line": 20},
    {"quote": "amount / rate", "line": 33},
]
BAD_ANCHORS: list[dict[str, JsonValue]] = [
    {"quote": "share = amount * rate"},
    {"quote": ""},
    {"quote": "rate"},
    {"quote": "    rate = till.rate", "line": 35},  # there are two
    {"line": 5, "end_line": 5, "quote": "old_5 = 5"},  # not part of the diff
    {"line": 500, "end_line": 500},
    {"line": 0, "end_line": 0},
    {"line": -1, "end_line": -1},
    {"path": "shop/other.py"},
    {"path": "/etc/passwd"},
]


@pytest.mark.parametrize("changes", GOOD_ANCHORS, ids=str)
def test_a_claim_whose_quote_is_there_or_uniquely_near_is_anchored(changes: dict[str, JsonValue]):
    (finding,) = parse_findings(claim(**changes))
    assert (finding.line, finding.end_line) == (DIVISION, DIVISION)


@pytest.mark.parametrize("changes", BAD_ANCHORS, ids=str)
def test_a_claim_about_what_is_not_there_is_dropped(changes: dict[str, JsonValue]):
    assert parse_findings(claim(**changes)) == ()


def test_a_range_stays_in_its_hunk():
    (finding,) = parse_findings(claim(end_line=500))
    assert finding.end_line is not None
    assert CHANGE.files[0].can_be_commented(DIVISION, finding.end_line)


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, Severity.error),
        ({"rule": "model/security", "harm": "security_hole"}, Severity.error),
        ({"rule": "model/missing-edge-case", "harm": "wrong_result"}, Severity.error),
        ({"met_by": "condition"}, Severity.warning),
        ({"rule": "model/data-loss", "harm": "data_loss", "met_by": "condition"}, Severity.warning),
        ({"harm": "waste"}, Severity.warning),
        ({"harm": "none"}, Severity.info),
        ({"rule": "model/removed-safeguard", "met_by": "nobody"}, Severity.info),  # a null that nobody passes
        ({"rule": "model/missing-test"}, Severity.info),
        ({"rule": "avoidance/failure-hidden"}, Severity.warning),
    ],
    ids=str,
)
def test_how_grave_a_finding_is_follows_from_what_breaks_for_whom(changes: dict[str, JsonValue], severity: Severity):
    (finding,) = parse_findings(claim(**changes))
    assert finding.severity is severity


@pytest.mark.parametrize("harm", Harm)
@pytest.mark.parametrize("met_by", MetBy)
def test_a_model_cannot_find_anything_critical(harm: Harm, met_by: MetBy):
    assert grade(harm, met_by).rank < Severity.critical.rank


def test_doubtful_claims_are_dropped():
    assert parse_findings(claim(confidence=0.39)) == ()
    assert len(parse_findings(claim(confidence=0.4))) == 1


@pytest.mark.parametrize(
    ("trigger", "kept"), [("share(1, 0): ZeroDivisionError for every caller", 1), ("", 0), (" \n", 0)]
)
def test_a_claim_that_names_no_input_is_dropped(trigger: str, kept: int):
    assert len(parse_findings(claim(trigger=trigger))) == kept


def test_a_model_has_to_name_input_and_consequence_and_no_severity():
    schema = Report.model_json_schema()["$defs"]["ReportedFinding"]
    assert {"trigger", "harm", "met_by"} <= set(schema["required"])
    assert "severity" not in schema["properties"]
    assert len(parse_findings({name: value for name, value in claim().items() if name != "trigger"})) == 1


@pytest.mark.parametrize(("effort", "said"), [(Effort.low, 2), (Effort.standard, 2), (Effort.deep, 3)])
def test_only_a_deep_review_says_what_does_no_harm(effort: Effort, said: int):
    found = parse_findings(
        claim(), claim(rule="model/performance", harm="waste"), claim(rule="model/missing-test", confidence=0.9)
    )
    assert len(found) == 3
    again, others = EFFORTS[effort].split(found)
    assert len(again) + len(others) == said


def test_claims_outside_the_closed_list_are_dropped_and_the_others_stay():
    assert len(parse_findings(claim(rule="model/approve"), claim(), {"rule": 3})) == 1


def test_at_most_five_the_gravest_and_surest():
    rules = sorted(rule for rule in RULES if RULES[rule].category is Category.correctness)[:4]
    lines = {31: NEW[0], 33: NEW[2], 34: NEW[3], 35: NEW[4]}
    claims = [
        claim(rule=rule, line=line, end_line=line, quote=quote, message=quote, confidence=0.6 + line / 100)
        for rule in [*rules, "model/security", "model/performance", "model/missing-test"]
        for line, quote in lines.items()
    ]
    assert len(parse_findings(*claims)) == 5
    assert all(finding.severity.rank >= Severity.warning.rank for finding in parse_findings(*claims))


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        ({"line": 34, "end_line": 34, "quote": NEW[3]}, 1),  # in the same words
        ({"message": "Refuse a rate of 0."}, 1),  # of the same line
        ({"line": 34, "end_line": 34, "quote": NEW[3], "message": "Two threads lose a share here."}, 2),
        ({"line": 32, "end_line": 35, "quote": NEW[1], "message": "Two threads lose a share here."}, 2),
    ],
)
def test_an_answer_says_the_same_once_and_what_stands_beside_it_as_well(other: dict[str, JsonValue], kept: int):
    assert len(parse_findings(claim(), claim(rule="model/missing-edge-case", **other))) == kept


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        (build_known(DIVISION), 0),
        (build_known(DIVISION, severity=Severity.warning), 1),  # a tool knows a pattern, and not who meets it
        (build_known(DIVISION + 1), 1),
        (build_known(DIVISION, category=Category.security), 1),
        (build_known(DIVISION + 2, layer=Layer.model), 0),
        (build_known(DIVISION + 3, layer=Layer.model), 1),
    ],
)
def test_what_others_said_is_not_repeated(other: RawFinding, kept: int):
    assert len(parse_findings(claim(), known=[other])) == kept


def test_an_earlier_finding_is_not_raised_again():
    again = EarlierFinding(id="F-1", rule="model/race", path="shop/till.py", line=DIVISION, message="m", before="b")
    assert parse_findings(claim(), earlier=[again]) == ()


@pytest.mark.parametrize(
    "replacement",
    [
        "",
        "    share = amount / rate",
        "share = amount / (rate or 1)",
        "\n".join(["    x = 1"] * 60),
        "    share = amount / (rate or 1)\u202e",
        "    share = get('https://evil.example/x')",
    ],
    ids=["empty", "the same", "indentation lost", "too long", "hidden characters", "an address"],
)
def test_a_replacement_that_does_not_fit_is_left_out_and_the_finding_stays(replacement: str):
    (finding,) = parse_findings(claim(replacement=replacement))
    assert finding.fix is None


def test_messages_are_short_prose():
    (finding,) = parse_findings(claim(message="  Long\n\n" + "word " * 300))
    assert len(finding.message) <= 500
    assert finding.message.startswith("Long word word")
    assert finding.message.endswith("word…")


def test_comparisons_in_a_message_survive():
    (finding,) = parse_findings(claim(message="If amount < 0 and rate > 1, List<int> stays empty."))
    assert finding.message == "If amount < 0 and rate > 1, List<int> stays empty."


def candidates() -> tuple[RawFinding, ...]:
    return parse_findings(
        claim(),
        claim(rule="model/performance", met_by="condition"),
        claim(rule="model/missing-test", harm="none", confidence=0.7),
    )


def test_the_second_look_sees_only_the_candidates_and_their_code():
    question = build_second_look(candidates(), CHANGE, VERSIONS)
    assert question is not None
    assert "#1 shop/till.py:33 model/logic-error: A rate of 0" in question.content
    assert "33+    share = amount / rate" in question.content
    assert "\nTrigger: `pay` with a rate of 0: ZeroDivisionError" in question.content
    assert "\nSteps: pay divides by till.rate, which nothing checks.\n" in question.content
    assert "\nHarm: crash, met by: caller\n" in question.content
    assert "old_5 " not in question.content
    assert "old_55 " not in question.content


def test_the_second_look_sees_what_a_candidate_names_and_what_was_looked_up():
    """Also in the file that changes, where a proof often stands."""
    named = parse_findings(claim(message="A rate of 0 raises ZeroDivisionError, as `old_5` allows it."))
    looked_up = RelatedCode("shop/till.py", "shop/till.py", "looked up", 60, ("old_52 = 52",))
    question = build_second_look(named, CHANGE, VERSIONS, related=[looked_up])
    assert question is not None
    for shown in ("\n5 old_5 = 5", "\n60 old_52 = 52", "37+def again(till):"):
        assert shown in question.content
    assert "old_20 " not in question.content


def test_there_is_no_second_look_without_candidates():
    assert build_second_look((), CHANGE, VERSIONS) is None


PROOF = "share = amount / rate"
CALLER = "print(share(1, 0))"
SHOWN = f"""BEGIN x
== shop/till.py
1 import os
-    share = amount / max(rate, 1)
33+    {PROOF}
== shop/receipt.py (unchanged, uses share)
6 }}
7     {CALLER}
== candidates
#3 shop/till.py:33 model/missing-test: no test
END x"""
ASKED = Question(key="k", instructions=load_prompt("second_look"), content=SHOWN, max_output_tokens=1)


def judge(*said: tuple[int, str, str]) -> ModelAnswer:
    value: Mapping[str, JsonValue] = {"verdicts": [{"number": n, "verdict": v, "quote": q} for n, v, q in said]}
    return ModelAnswer(key="k", value=Verdicts.model_validate(value).model_dump(mode="json"))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ([(n, "proven", PROOF) for n in (1, 2, 3)], ["logic-error", "performance", "missing-test"]),
        ([(n, "proven", "callers pass a rate") for n in (1, 2, 3)], ["logic-error"]),  # nothing shown
        ([(n, "proven", "") for n in (1, 2, 3)], ["logic-error"]),
        ([(3, "proven", "#3 shop/till.py:33 model/missing-test: no test")], []),  # what is asked proves nothing
        ([(n, "unsure", "") for n in (1, 2, 3)], ["logic-error"]),  # a warning that nobody proves is not worth saying
        ([(1, "refuted", PROOF)], []),
        ([(1, "refuted", "33+    share = amount / rate")], []),
        ([(1, "refuted", "if rate == 0:")], ["logic-error"]),  # no such line is shown
        ([(9, "proven", PROOF)], []),
        ([], []),
    ],
)
def test_only_what_the_second_look_does_not_refute_is_kept(said: list[tuple[int, str, str]], kept: list[str]):
    found = keep_confirmed(candidates(), judge(*said), ASKED)
    assert [finding.rule.removeprefix("model/") for finding in found] == kept


def test_what_is_not_proven_does_not_block_anyone():
    (finding,) = keep_confirmed(candidates()[:1], judge((1, "unsure", "")), ASKED)
    assert (finding.severity, finding.confidence) == (Severity.warning, 0.75)


def test_a_proof_makes_a_doubtful_finding_worth_saying():
    (finding,) = keep_confirmed(parse_findings(claim(confidence=0.45)), judge((1, "proven", PROOF)), ASKED)
    assert finding.confidence == 0.8


@pytest.mark.parametrize(("met_by", "severity"), [("caller", Severity.error), ("condition", Severity.warning)])
def test_a_proof_changes_nothing_about_how_grave_it_is(met_by: str, severity: Severity):
    """Whatever kind of mistake it is called: a guard may have been for what nobody does."""
    found = parse_findings(claim(rule="model/removed-safeguard", met_by=met_by, confidence=0.5))
    (finding,) = keep_confirmed(found, judge((1, "proven", PROOF)), ASKED)
    assert finding.severity is severity


HIDDEN = "avoidance/failure-hidden"


@pytest.mark.parametrize(
    ("said", "confidence", "severity"),
    [("proven", 0.8, Severity.warning), ("unsure", 0.6, Severity.warning), (None, 0.6, Severity.warning)],
)
def test_only_a_proof_makes_a_hidden_failure_certain(said: str | None, confidence: float, severity: Severity):
    claims = parse_findings(claim(rule=HIDDEN, confidence=0.9 if said != "proven" else 0.5))
    answer = ModelAnswer(key="k") if said is None else judge((1, said, PROOF))
    [finding] = keep_confirmed(claims, answer, ASKED)
    assert (round(finding.confidence, 3), finding.severity) == (confidence, severity)
    assert (finding.confidence >= CERTAIN) is (said == "proven")


@pytest.mark.parametrize(
    "quote",
    [PROOF, "share = amount / max(rate, 1)", "", "receipt.py calls it with 0", "import os", "}", "== shop/till.py"],
)
def test_only_a_caller_proves_that_callers_break(quote: str):
    guessed = parse_findings(claim(rule="model/breaking-change", confidence=0.5))
    assert keep_confirmed(guessed, judge((1, "proven", quote)), ASKED) == ()
    assert keep_confirmed(guessed, judge((1, "proven", CALLER)), ASKED)


@pytest.mark.parametrize(
    ("quote", "is_kept"),
    [
        ("share = amount / max(rate, 1)", True),  # a removed line
        ("- share = amount / max(rate, 1)", True),
        ("33+    share = amount / rate", True),
        ("share = amount / rate\nprint(share)", True),
        ("amount / max(rate", True),
        ("}", False),
        ("BEGIN x", False),
        ("== shop/till.py", False),
        ("== shop/receipt.py (unchanged, uses share)", False),
    ],
)
def test_evidence_is_a_line_of_code(quote: str, is_kept: bool):
    guessed = parse_findings(claim(confidence=0.5))
    assert bool(keep_confirmed(guessed, judge((1, "proven", quote)), ASKED)) is is_kept
    sure = parse_findings(claim(confidence=0.9))
    assert bool(keep_confirmed(sure, judge((1, "refuted", quote)), ASKED)) is not is_kept


def test_without_a_second_look_only_the_sure_ones_are_kept():
    kept = keep_confirmed(candidates(), ModelAnswer(key="k", problem="no money"), ASKED)
    assert [finding.confidence for finding in kept] == [0.9, 0.9]


def test_an_earlier_finding_is_gone_only_on_a_clear_word():
    items = [
        EarlierFinding(id=name, rule="model/race", path="a", line=1, message="m", before="b") for name in ("F-1", "F-2")
    ]
    (question,) = build_questions(CHANGE, VERSIONS, earlier=items).questions
    value: dict[str, JsonValue] = {
        "findings": [],
        "earlier": [{"id": "F-1", "gone": True}, {"id": "F-9", "gone": True}],
    }

    assert read_earlier_verdicts(ModelAnswer(key="k", value=value), question) == {"F-1": True, "F-2": False}
    assert read_earlier_verdicts(ModelAnswer(key="k", problem="no"), question) == {"F-1": False, "F-2": False}


async def test_a_whole_review_by_a_scripted_model():
    model = ScriptedModel()
    model.when("share = amount / rate", {"findings": [claim(), claim(quote="nothing of the kind")]})
    model.when("#1 shop/till.py:33", {"verdicts": [{"number": 1, "verdict": "proven", "quote": PROOF}]})
    purse = OpenPurse()
    (question,) = build_questions(CHANGE, VERSIONS).questions

    answer = await ask(question, Report, model.language_model, purse)
    candidates = extract_findings(answer, question, CHANGE, VERSIONS)
    again = build_second_look(candidates, CHANGE, VERSIONS)
    assert again is not None
    kept = keep_confirmed(candidates, await ask(again, Verdicts, model.language_model, purse), again)

    assert [(finding.where, finding.confidence) for finding in kept] == [("shop/till.py:33", 0.9)]
    assert len(model.calls) == 2


async def test_a_scripted_model_has_nothing_to_say_unless_told():
    (question,) = build_questions(CHANGE, VERSIONS).questions
    answer = await ask(question, Report, ScriptedModel().language_model, OpenPurse())
    assert extract_findings(answer, question, CHANGE, VERSIONS) == ()
    assert answer.problem is None


async def test_an_answer_in_which_no_claim_can_be_read_is_asked_for_again():
    model = ScriptedModel().when("share", {"findings": [{"rule": "nonsense"}]}, {"findings": [claim()]})
    (question,) = build_questions(CHANGE, VERSIONS).questions

    answer = await ask(question, Report, model.language_model, OpenPurse())

    assert len(model.calls) == 2
    assert len(extract_findings(answer, question, CHANGE, VERSIONS)) == 1
