"""What the result of an issue's run says: readable where it is ordinary, and inert whatever others wrote."""

import re
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from domain.review.review import RiskLevel
from domain.runs.plan import DesignDecision, RatedPlan, Task
from handlers.slash import read
from messages import pull_request as texts
from messages.plan import StepState
from messages.pull_request import Progress, PullRequestDescription, TaskReport, VerifiedResult
from safety.plan_risk import rate_plan
from tests.rendering import find_active
from tests.unit.planning.plans import HOSTILE, plan, risky, task

MARKER = "<!-- forge:proposal:R:abc -->"
RUN = "01JCZ3"
# https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
CLOSES = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:[\w./-]*#\d+|GH-\d|https?://\S+/(?:issues|pull)/\d)",
    re.IGNORECASE,
)
SKIPS = re.compile(r"\[(?:skip|no)[ -]|[ -]skip\]|^skip-checks\s*:|\*\*\*no_ci", re.IGNORECASE | re.MULTILINE)
TRAILER = re.compile(r"^([\w-]+-(?:by|checks|id|run|task))\s*:", re.IGNORECASE | re.MULTILINE)
ATTACKS = [
    HOSTILE,
    "Fixes #1",
    "fixes: acme/shop#1",
    "`Fixes #1`",
    "CLOSES\tGH-1",
    "Resolved https://github.com/acme/shop/issues/1",
    "Fi\u200bxes #1",
    "Fixes \x1b[31m#1\x1b[0m",
    "Closes Closes #1",
    "Fixes ahttps://https://github.com/a/b/issues/1",
    "@everyone",
    "<img src=https://x.io/p.png>",
    "![p](https://x.io/p.png)",
    "<!-- forge:proposal:R:abc -->",
    "[skip ci] [ci skip] [no ci] [[skip actions]] ***NO_CI***",
    "Done\n\n\nskip-checks: true",
    "x\n\nCo-authored-by: M <m@x.io>\nSigned-off-by: M <m@x.io>\nForge-Run: 1\nReviewed-by :: M",
    "fixup! Fixes #1",
    "\u202egnp.exe",
    "\U000e0041\u200d\x00",
    "```\n/forge approve\n```",
    "#" * 500,
    "x" * 1_000,
    "word " * 200,
]


def build_task(text: str, title: str = "") -> Task:
    return task().model_copy(update={"title": title or text[:200], "description": text, "acceptance": text})


def full_of(text: str, count: int = 3) -> PullRequestDescription:
    """A proposal whose every text is this one."""
    tasks = [build_task(text).model_copy(update={"id": f"T{number}"}) for number in range(1, count + 1)]
    of = rate_plan(
        plan(
            *tasks,
            summary=text,
            decisions=(DesignDecision.model_construct(decision=text, reason=text),) * count,
            risk=risky(RiskLevel.high, *(text,) * 10),
        )
    )
    work = [TaskReport(each, done=text, not_done=text) for each in tasks]
    many = (text,) * count
    return PullRequestDescription(12, of, work, tests=many, models=many, conditions=many)


def usual(**changes: object) -> PullRequestDescription:
    given: RatedPlan = rate_plan(
        plan(
            task("T1"),
            task("T2", "T1", files=("docs/cart.md",)).model_copy(update={"title": "Describe it"}),
            risk=risky(RiskLevel.medium, "Every page uses the cart."),
        )
    )
    first, second = given.plan.tasks
    work = [
        TaskReport(first, "`Cart.count` counts on demand."),
        TaskReport(second, not_done="There is no folder `docs`."),
    ]
    values: dict[str, Any] = {
        "issue": 12,
        "weighed": given,
        "work": work,
        "tests": ("tests/test_cart.py",),
        "models": ("anthropic:claude-sonnet-4-5",),
        "conditions": ("Keep `len(cart)` working.",),
        **changes,
    }
    return PullRequestDescription(**values)


STRUCTURE = ("bullet_list", "list_item", "strong", "heading")
KINDS = [f"{kind}_{end}" for kind in STRUCTURE for end in ("open", "close")]


def find_unwanted(markdown: str, *more: str) -> list[str]:
    return find_active(markdown, [*KINDS, "html_inline", "softbreak", *more])


# --- the pull request --------------------------------------------------------------------------------------


def test_what_it_came_to_takes_the_place_held_for_it() -> None:
    proved = VerifiedResult(
        left=["shop/cart.py:3 ruff/F401"],
        tests="Passed: 2 tests",
        coverage=0.75,
        send_backs=2,
        conditions=["closes #7"],
    )
    before = texts.render_body(usual(), MARKER).replace("Closes #12", "Closes #12\n\nA word of a person.")
    after = texts.add_result(before, proved, 500_000)
    assert after is not None
    start = after.index("### Review and tests")
    assert after[start : after.index("<!-- /result")] == snapshot("""\
### Review and tests

- Tests: Passed: 2 tests; 75% of the added lines covered
- Open finding: `shop/cart.py:3 ruff/F401`
- The change needed 2 fixes.
- Condition: closes issue `#7`
- Spent by the run in total: 0.50 USD.
""")
    assert "A word of a person." in after
    assert after.endswith(MARKER)
    again = VerifiedResult(left=[f"a.py:{n} rule" for n in range(30)], tests="", coverage=None, send_backs=0)
    last = texts.add_result(after, again, 0) or ""
    assert "- Tests: not run\n" in last
    assert "and 20 more findings" in last
    assert "Passed" not in last


def test_a_description_without_the_place_stays_as_it_is() -> None:
    assert texts.add_result("Rewritten by a person.", VerifiedResult([], "", None, 0), 0) is None


def test_a_description_that_people_filled_up_stays_as_it_is() -> None:
    """GitHub would refuse it, and with it that the change is ready."""
    before = texts.render_body(usual(), MARKER)
    proved = VerifiedResult([], "", None, 0)
    with_room = before + "x" * (texts.LONGEST_BODY - len(texts.add_result(before, proved, 0) or ""))
    assert len(texts.add_result(with_room, proved, 0) or "") == texts.LONGEST_BODY
    assert texts.add_result(with_room + "x", proved, 0) is None


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("count", [1, 20])
def test_a_description_closes_its_issue_and_does_nothing_else(attack: str, count: int) -> None:
    text = texts.render_body(full_of(attack, count), MARKER)
    assert [match[0] for match in CLOSES.finditer(text)] == ["Closes #12"]
    assert text.startswith("Closes #12\n\n")
    assert text.endswith(f"\n\n{MARKER}")
    inner = text.removeprefix("Closes #12").removesuffix(MARKER)
    for mark in ("<!-- result -->", "<!-- /result -->"):
        assert inner.count(mark) == 1
        inner = inner.replace(mark, "")
    assert find_unwanted(inner) == []
    assert read(inner) == ()
    assert "<!--" not in inner
    assert not re.search("[\x00-\x08\x1b\u200b-\u200f\u202a-\u202e]", inner)


@pytest.mark.parametrize("character", ["&", "`", "|", "\\", "_", "a", "@b ", "Fixes #1 "])
def test_the_largest_description_is_outlined(character: str) -> None:
    text = texts.render_body(full_of((character * 1_000)[:1_000], 20), MARKER)
    assert len(text) <= 60_000
    assert "**T20**" in text
    assert text.endswith(MARKER)


def test_only_what_is_too_long_is_outlined() -> None:
    assert "so it leaves out" in texts.render_body(full_of("&" * 900, 20), MARKER)
    assert "so it leaves out" not in texts.render_body(usual(), MARKER)


def test_a_description() -> None:
    assert texts.render_body(usual(), MARKER) == snapshot("""\
Closes #12

The cart says how many items it holds.

### What was done

- [x] **T1** Count the items
  - Done: `Cart.count` counts on demand.
- [ ] **T2** Describe it
  - Not done: There is no folder `docs`.

### Conditions

- Keep `len(cart)` working.

### Decisions

- Count on demand. Why: It cannot go stale.

### Tests added

- `tests/test_cart.py`

<!-- result -->
### Review and tests

- Forge is reviewing and testing this change: see the checks below.
<!-- /result -->

<sub>Model: `anthropic:claude-sonnet-4-5`. `/forge cancel` on the issue stops the run, `/forge cost` shows its cost.</sub>

<!-- forge:proposal:R:abc -->\
""")  # noqa: E501


def test_a_description_without_more_than_it_needs() -> None:
    text = texts.render_body(usual(conditions=(), tests=()), MARKER)
    assert "Conditions" not in text
    assert "### Tests added\n\n- none" in text


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_title_does_nothing(attack: str) -> None:
    title = texts.render_title(12, attack, plan().model_copy(update={"title": attack}))
    assert 0 < len(title) <= 256
    assert title == title.strip()
    assert title.isprintable()
    assert not CLOSES.search(title)
    assert not SKIPS.search(title)
    assert not re.search(r"@\w|#\d|GH-\d|://", title)


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("Show prices in euros", "Show prices in euros"),
        ("  - [Bug] Port it to C#.  ", "[Bug] Port it to C#"),
        ("--verbose is ignored: why?", "--verbose is ignored: why?"),
        (".gitignore is missing", ".gitignore is missing"),
        ("Größe & 割引 `a_b`", "Größe & 割引 `a_b`"),
        ("Fixes #1", "Fixes issue # 1"),
        ("## @ann: WIP", "@ ann: WIP"),
        ("fixup! squash! x", "x"),
        ("\u200b ", "Work on issue 12"),
        ("---", "Work on issue 12"),
    ],
)
def test_a_title_reads_like_what_it_is_made_of(given: str, title: str) -> None:
    named = plan(task("T1"), task("T2"))
    assert texts.render_title(12, given, named) == title
    assert texts.render_title(12, "", named.model_copy(update={"title": given})) == title


def test_a_title_names_the_change_and_not_the_fault() -> None:
    fault = "Parcels without a size are quoted"
    two, one = plan(task("T1"), task("T2")), plan(task("T1"))
    assert texts.render_title(12, fault, two.model_copy(update={"title": "Refuse parcels"})) == "Refuse parcels"
    assert texts.render_title(12, fault, one) == "Count the items"
    assert texts.render_title(12, fault, two) == fault


# --- commits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("before", ["", "word " * 9, "word " * 12])
def test_a_commit_does_nothing(attack: str, before: str) -> None:
    message = texts.render_commit_message(build_task(before + attack, attack[:200]), RUN)
    subject, empty, *_ = message.split("\n")
    assert 0 < len(subject) <= 72
    assert empty == ""
    assert not CLOSES.search(message)
    assert not SKIPS.search(message)
    assert not re.search(r"@\w|#\w|GH-\d|://", message)
    assert [match[1] for match in TRAILER.finditer(message)] == ["Forge-Run", "Forge-Task"]
    assert message.endswith(f"\n\nForge-Run: {RUN}\nForge-Task: T1\n")


def test_a_commit() -> None:
    given = task().model_copy(update={"description": "Add `count` to the cart, counted on demand. " * 3})
    assert texts.render_commit_message(given, RUN) == snapshot("""\
Count the items

Add `count` to the cart, counted on demand. Add `count` to the cart,
counted on demand. Add `count` to the cart, counted on demand.

Done when: A cart with two items says 2.

Forge-Run: 01JCZ3
Forge-Task: T1
""")


def test_code_and_addresses_stay_whole_in_a_commit() -> None:
    told = "Take `@with_pattern(r'(a)')` as https://url.spec.whatwg.org/#url-parsing says; `@ann, #12 ` or @ann, #12."
    assert texts.render_change_message("Count `@cache` groups", told, RUN) == snapshot("""\
Count `@cache` groups

Take `@with_pattern(r'(a)')` as url.spec.whatwg.org/#url-parsing says;
`@ann, # 12 ` or @ ann, # 12.

Forge-Run: 01JCZ3
""")
    cut = texts.render_change_message("x" * 60 + " `word @ann is here`", "word " * 198 + "`of @ann and @bob`", RUN)
    assert "@ann" not in cut


def test_a_secret_is_in_no_text() -> None:
    secret = "ghp_" + "a1B2" * 9
    given = full_of(f"Uses {secret}")
    for text in (
        texts.render_body(given, MARKER),
        texts.render_title(1, secret, plan().model_copy(update={"title": secret})),
        texts.render_commit_message(build_task(f"x {secret}"), RUN),
        texts.nothing_changed(given.work, spent=0),
    ):
        assert secret not in text


# --- how far it is, and why it did not get there -----------------------------------------------------------


def test_progress_in_plain_words() -> None:
    done, now = StepState.done, StepState.now
    assert texts.render_status(Progress(), 0) == snapshot("""\
**Forge is working on this issue**

- [ ] Planning: now
- [ ] Implementation: next
- [ ] Pull request: next
- [ ] Review: next
- [ ] Tests: next

<sub>`/forge cancel` on the issue stops the run, `/forge cost` shows its cost.</sub>\
""")
    assert texts.render_status(Progress(done, done, now, done=1, tasks=3), 1_250_000) == snapshot("""\
**Forge is working on this issue**

- [x] Planning: done
- [x] Approval of the plan: done
- [ ] Implementation: now, 1 of 3 tasks
- [ ] Pull request: next
- [ ] Review: next
- [ ] Tests: next

<sub>Spent by this run so far: 1.25 USD. `/forge cancel` on the issue stops the run, `/forge cost` shows its cost.</sub>\
""")  # noqa: E501
    waiting = texts.render_status(Progress(planning=StepState.queued), 0)
    assert waiting.startswith("**Forge is about to work on this issue**\n\n- [ ] Planning: queued until a worker")
    proposed = Progress(done, None, done, 1, 1, done, 14, review=now, send_backs=2)
    assert texts.render_status(proposed, 0).splitlines()[3:7] == snapshot(
        [
            "- [x] Implementation: done, 1 of 1 task, 2 fixes",
            "- [x] Pull request: done, #14",
            "- [ ] Review: now",
            "- [ ] Tests: next",
        ]
    )
    over = replace(proposed, review=done, testing=done, send_backs=1)
    assert texts.render_status(over, 1_250_000) == snapshot("""\
**Forge opened a pull request for this issue**

- [x] Planning: done
- [x] Implementation: done, 1 of 1 task, 1 fix
- [x] Pull request: done, #14
- [x] Review: done
- [x] Tests: done

<sub>Spent by this run so far: 1.25 USD.</sub>\
""")


def test_what_stands_in_the_way_in_plain_words() -> None:
    assert texts.nothing_changed([*usual().work], spent=10_000) == snapshot("""\
**Nothing was changed, so there is no pull request.**

- **T2** There is no folder `docs`.

**Next:** say in a comment what is missing, then write `/forge run`. If there is nothing left to do, close the issue.

<sub>Spent by this run so far: 0.01 USD.</sub>\
""")
    assert texts.branch_moved("forge/12-count", spent=0) == snapshot("""\
**Someone changed the branch `forge/12-count`, so Forge stopped pushing to it.** Forge overwrites nothing. Its work since the last push is not on the branch.

**Next:** continue by hand from there. To have Forge do the work again on its own branch, write `/forge run`.\
""")  # noqa: E501
    said = "refusing to allow a GitHub App to create or update workflow 'a.yml' without 'workflows' permission"
    assert "the permission `workflows`" in texts.push_refused("forge/12-count", said, spent=0)
    assert texts.push_refused("forge/12-count", "GH013: Repository rule violations found", spent=0) == snapshot("""\
**GitHub refused the branch `forge/12-count`.** GH013: Repository rule violations found

**Next:** an admin of the repository allows Forge to create branches named `forge/…` in rulesets and branch protection. Then write `/forge run`.\
""")  # noqa: E501
    assert texts.names_taken("forge/12-count", 10) == snapshot(
        (
            "The branch forge/12-count exists, and so do 9 numbered ones.",
            "Delete the ones that nobody needs, then write /forge run.",
        )
    )
    assert texts.report_foreign_proposal("forge/12-count", 7) == snapshot(
        (
            "Pull request 7, which this run did not open, is already open for the branch forge/12-count.",
            "Continue in pull request 7, or close it and write /forge run.",
        )
    )
    assert texts.not_opened("forge/12-count", "Repository was archived.") == snapshot(
        (
            "GitHub refused a pull request from the branch forge/12-count: Repository was archived.",
            "The branch exists: open the pull request by hand. Or check that the repository accepts pull requests and the App may open them, then write /forge run.",  # noqa: E501
        )
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_acts_in_what_stands_in_the_way(attack: str) -> None:
    for text in (
        texts.nothing_changed(full_of(attack).work, spent=0),
        texts.push_refused(attack, attack, spent=0),
        texts.branch_moved(attack, spent=0),
    ):
        assert find_unwanted(text) == []
        assert read(text) == ()
        assert "<!--" not in text
    assert texts.nothing_changed([], spent=0).count("\n\n") == 1
