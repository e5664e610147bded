"""What people say to Forge on GitHub, and what it answers."""

import re

import pytest
from dbos import DBOS
from inline_snapshot import snapshot

from domain.events import EventType
from memory.ledger import ledger
from memory.runs import checkpoints, runs
from messages.audit import describe_event
from pipeline.publishing import reviews
from pipeline.verdicts import threads
from safety.review_quota import PER_PULL_REQUEST
from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.replies import bodies, first_lines

APP = "import os\n\n\ndef main():\n    return os.name\n"
BROKEN = APP.replace("os.name", "os.name + missing")


async def _open_reviewed(story: Story) -> tuple[Repository, User, User, PullRequest, str]:
    """A reviewed pull request of alice with one blocking finding, and carol, who may write, too."""
    repository, alice = story.repository({"app.py": APP})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    return repository, alice, carol, pull, head


async def test_help_is_answered_once(story: Story) -> None:
    _, alice, _, pull, _ = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    asked = await alice.comment(pull, "Hello!\n\n/forge help\n")
    await story.settle()
    [answer] = story.answers(pull)
    assert bodies([answer]) == snapshot(
        [
            """\
Write a command at the start of a line, one per line. In a reply to a finding you can leave out its F-ID. Edited comments, quotes and code are ignored. The author of a change is alone where nobody else has the role.

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge review [full or EFFORT]` | triage; on a fork: write | review this head; `full`: from scratch; the same with an effort of its own: `low`, `standard`, `deep` |
| `/forge ask QUESTION` | write | answer a question from the code: of this head, in an issue of the default branch |
| `/forge explain F-ID` | triage | a finding in more words |
| `/forge dismiss F-ID reason` | write, not the author unless alone | the finding is wrong or not wanted: do not raise it again |
| `/forge fix F-ID or all` | write | propose a change that fixes a finding; `all`: one commit with what can be fixed of the open findings |
| `/forge do INSTRUCTION` | write | carry out what you ask for on this pull request, as a commit on its branch; in a review thread it is about that thread's lines |
| `/forge address` | write | do what the open review threads of people ask for, one after the other; each is answered with its commit or with why not |
| `/forge mend` | write | say why checks of this pull request are red, of any App, and mend what its change broke; looked at again, at most twice |
| `/forge update [ANSWER]` | write | take the base into this pull request's branch; what conflicts is resolved where it is clear, and else asked; `ANSWER`: what to do about what was asked |
| `/forge run [MODE]` | write | plan this issue, carry it out and open a pull request; in a mode of its own: `deterministic`, `interactive` |

<details><summary>All other commands</summary>

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge help` | read | all commands |
| `/forge status` | read | what Forge is doing here and what it waits for |
| `/forge cost` | read | what was spent here, and what is left |
| `/forge view [GATE]` | read | the last verdict with its reasons and open findings |
| `/forge history [F-ID or GATE]` | read | every run here and how it ended, with those of the issue's pull request or the pull request's issue; what the newest one tried, turn by turn. Of findings of giving up: what their detector found here before, and what became of it |
| `/forge diff [F-ID or GATE]` | read | what Forge changed here: its commits and their diff; of findings: their files before and after |
| `/forge level [N]` | read; to set it: admin | the automation level, from 0 to 4 |
| `/forge why F-ID` | read | what led to a finding, and what dismissals make of it |
| `/forge test` | triage; on a fork: write | run the tests of this head |
| `/forge undismiss F-ID` | write | take a dismissal back |
| `/forge remember text or M-ID` | write, not the author unless alone | teach Forge something, or keep what it proposes |
| `/forge forget M-ID` | write, not the author unless alone | make Forge forget it |
| `/forge plan` | write | plan this issue, nothing more |
| `/forge retry [recovery]` | write | run the failed phase again; at the gate `recovery`: let the agent try anew |
| `/forge resume` | write | go on from the last checkpoint |
| `/forge cancel` | write | stop the run, keep what it has so far |
| `/forge continue 5usd or 10it` | write | grant another slice of money or iterations |
| `/forge approve [GATE] [SHA7] [with: conditions]` | the gate's role | let the gate pass |
| `/forge reject [GATE] reason` | the gate's role | stop at the gate |
| `/forge delegate [GATE] @account or agent` | the gate's role | let somebody else decide; at the gate `recovery`, `agent`: let another agent do it |
| `/forge suggest [GATE]` | read | what could be done instead |
| `/forge legitimate [F-ID] justification` | read | a finding of giving up is wrong; with the role write, but not of the author, it counts no more, else others are asked |
| `/forge violation [F-ID] justification` | write, not the author unless alone | a finding of giving up is right: it blocks until it is mended |
| `/forge needs-review [F-ID] [question]` | write, not the author unless alone | ask the author about a finding of giving up, and others to judge it |
| `/forge whitelist F-ID file or repository justification` | write, not the author unless alone | a finding of giving up is wrong, and such findings pass in this file, or with the role maintain everywhere here, for 90 days |
| `/forge accept` | write | at a guard or budget: end with what there is so far |
| `/forge abort` | write | end the run and clean up |
| `/forge missed description` | write | report a critical bug Forge did not see |
| `/forge rollback C-ID [PATH …] or ENV` | write; production: maintain | take an agent's work back to a checkpoint, all of it or only these files; or an environment to what ran there before |
| `/forge deploy ENV [hold, go-on or cancel]` | write; production: maintain | deploy what was merged, on an issue the default branch; or hold what is being deployed, let it go on, end it |
| `/forge pause [here]` | admin; here: write | stop everything in this repository now; `here`: leave this place alone |
| `/forge unpause [here]` | admin; here: write | let Forge work again |

</details>\
"""
        ]
    )
    assert [reaction.content for reaction in asked.reactions] == ["eyes"]


async def test_dismissed_finding_stays_away(story: Story) -> None:
    repository, alice, carol, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.reply(comment, "/forge dismiss the name is injected at run time")
    await story.settle()

    [answer] = story.thread_answers(pull, comment)
    assert bodies([answer]) == snapshot(
        [
            "**F-AEGTUI** is dismissed: the name is injected at run time. Forge does not raise it again here, nor where the same rule meets the same code. Learned (M-ID): only what was dismissed, not its rule. `/forge undismiss F-AEGTUI` undoes this."
        ]
    )
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    assert "### Dismissed" in (check.summary or "")

    again = await alice.push(repository, "feature", {"README.md": "# More\n"})
    await story.settle()
    assert story.check(repository, again).conclusion == "success"
    assert len(story.comments(pull)) == 1

    other = await alice.push(repository, "other", {"app.py": BROKEN, "x.md": "x\n"}, base="main")
    second = await alice.open_pull_request(repository, "other")
    await story.settle()
    assert story.check(repository, other).conclusion == "success"
    assert story.comments(second) == []


async def test_dismissal_is_taken_back(story: Story) -> None:
    repository, _, carol, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.reply(comment, "/forge dismiss wrong")
    await story.settle()
    await carol.reply(comment, "/forge undismiss")
    await story.settle()
    assert len(story.thread_answers(pull, comment)) == 2
    assert story.check(repository, head).conclusion == "failure"


async def test_author_does_not_dismiss(story: Story) -> None:
    repository, alice, _, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await alice.reply(comment, "/forge dismiss I know better")
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert bodies([answer]) == snapshot(
        [
            "Refused: `/forge dismiss` is not for the author of the change. Someone else here has the role write, and can."
        ]
    )
    assert story.check(repository, head).conclusion == "failure"


@pytest.mark.parametrize("role", ["read", "write"])
async def test_a_finding_that_does_not_exist_is_told_before_any_role(story: Story, role: str) -> None:
    """No role, and nobody else, could dismiss it."""
    repository, alice, _, pull, _ = await _open_reviewed(story)
    story.github.grant(repository, alice, role)
    story.comments(pull)
    await alice.comment(pull, "/forge dismiss F-AAAAAA I know better")
    await story.settle()
    assert bodies(story.answers(pull)) == snapshot(
        ["There is no finding `F-AAAAAA` here. There is `F-AEGTUI` (`app.py:5`)."]
    )


async def test_author_who_is_alone_dismisses_with_a_reason(story: Story) -> None:
    """By command, which gives a reason; the receipt and the audit say so. A thread without one stays a hint."""
    repository, alice, carol, pull, head = await _open_reviewed(story)
    story.github.revoke(repository, carol)
    [comment] = story.comments(pull)
    await alice.resolve(comment.thread)
    await story.settle()
    assert story.thread_answers(pull, comment) == []
    assert story.check(repository, head).conclusion == "failure"
    await alice.reply(comment, "/forge dismiss it is injected")
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert answer.body.startswith(f"**{_names(comment)[0]}** is dismissed: it is injected.")
    assert "It is your own change: you may, because nobody else here has the role" in answer.body
    assert story.check(repository, head).conclusion == "success"
    [past] = await runs.list_for_pull_request(story.forge.services.database, repository.id, pull.number)
    told = await ledger.load_events(story.forge.services.database, past.run.id)
    [said] = [describe_event(each) for each in told if each.type is EventType.feedback_dismissed]
    assert (said.who, said.words) == ("alice", "it is injected")
    assert said.why == "nobody else has the role, so the rule on authors was waived"


async def test_stranger_is_refused(story: Story) -> None:
    repository, _, _, pull, head = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    await story.github.user("mallory").comment(pull, "/forge pause")
    await story.settle()
    [answer] = story.answers(pull)
    assert bodies([answer]) == snapshot(["Refused: `/forge pause` needs the role admin; `mallory` has read."])
    assert story.check(repository, head).conclusion == "failure"


async def test_edited_comment_never_commands(story: Story) -> None:
    _, _, carol, pull, _ = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    said = await carol.comment(pull, "Nice.")
    await carol.edit_comment(said, "/forge cancel")
    await story.settle()
    assert story.answers(pull) == []


@pytest.mark.tells("sender")  # who resolved a thread
async def test_resolving_without_a_change_dismisses(story: Story) -> None:
    repository, _, carol, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.resolve(comment.thread)
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert bodies([answer]) == snapshot(
        [
            "`carol` resolved this thread without a change, so **F-AEGTUI** is dismissed. Learned (M-ID): only what was dismissed, not its rule. `/forge undismiss F-AEGTUI` undoes this; `/forge dismiss F-AEGTUI reason` adds why."
        ]
    )
    assert story.check(repository, head).conclusion == "success"


async def test_thread_of_what_is_gone_is_resolved(story: Story) -> None:
    repository, alice, _, pull, _ = await _open_reviewed(story)
    [comment] = story.comments(pull)
    head = await alice.push(repository, "feature", {"app.py": APP.replace("os.name", "os.sep")})
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    assert comment.thread.resolved


@pytest.mark.parametrize(("words", "stays_open"), [("Are you sure?", True), ("/forge explain", False)])
async def test_thread_with_a_persons_reply_stays_open(story: Story, words: str, stays_open: bool) -> None:
    repository, alice, carol, pull, _ = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.reply(comment, words)
    await alice.push(repository, "feature", {"app.py": APP.replace("os.name", "os.sep")})
    await story.settle()
    assert comment.thread.resolved is not stays_open
    story.pass_over(pull)


async def _open_with_fix(story: Story) -> tuple[Repository, User, PullRequest, ReviewComment]:
    """A pull request of alice in which the deletion of an import is offered."""
    repository, alice = story.repository({"app.py": APP})
    await alice.push(
        repository, "feature", {"app.py": APP.replace("import os\n", "import os\nimport sys\n")}, base="main"
    )
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [comment] = story.comments(pull)
    assert "```suggestion" in comment.body
    return repository, alice, pull, comment


USED = APP.replace("import os\n", "import os\nimport sys\n") + "\n\nprint(sys.argv)\n"


async def test_a_suggestion_that_would_break_the_code_cannot_be_applied(story: Story) -> None:
    """The line of the comment did not change: GitHub calls the thread as new as ever."""
    repository, alice, pull, comment = await _open_with_fix(story)
    head = await alice.push(repository, "feature", {"app.py": USED})
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    assert not comment.thread.outdated
    assert comment.thread.resolved
    assert comment.body.startswith(f"**No longer applies** (`{head[:7]}`).\n\n`sys` imported but unused.")
    assert "suggestion" not in comment.body

    await alice.push(repository, "feature", {"app.py": USED.replace("sys.argv", "os.name")})
    await story.settle()
    assert comment.body.startswith("🟡 **Warning** · correctness")
    assert "```suggestion" not in comment.body  # which lines it would replace is not what it was
    assert len(story.comments(pull)) == 1


@pytest.mark.tells("sender")  # who resolved a thread
async def test_what_comes_back_opens_the_thread_that_forge_resolved(story: Story) -> None:
    repository, alice, pull, comment = await _open_with_fix(story)
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    offered = repository.git.read(pull.head_sha, "app.py") or b""
    for thread_is_resolved, content in ((True, USED), (False, offered)):
        await alice.push(repository, "feature", {"app.py": content})
        await story.settle()
        assert comment.thread.resolved is thread_is_resolved
    assert comment.body.startswith("🟡 **Warning** · correctness")

    await carol.resolve(comment.thread)  # by a person, that is a dismissal
    for content in (USED, offered):
        await alice.push(repository, "feature", {"app.py": content})
        await story.settle()
        assert comment.thread.resolved_by is not None
        assert comment.thread.resolved_by.login == "carol"
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["`carol` resolved this thread without a change, so **F-FNQ5I5** is dismissed. Le…"]
    )


async def test_a_thread_that_was_dismissed_meanwhile_stays_resolved(story: Story) -> None:
    """The run settles with the review it drew, and a person dismissed since."""
    _, _, carol, pull, _ = await _open_reviewed(story)
    [comment] = story.comments(pull)
    services, [row] = story.forge.services, await story.runs()
    run = await runs.get(services.database, row.id)
    assert run is not None
    drawn = await checkpoints.load_review(services.database, run)
    assert drawn is not None
    await carol.reply(comment, "/forge dismiss it is set elsewhere")
    await story.settle()
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["**F-AEGTUI** is dismissed: it is set elsewhere. Forge does not raise it again h…"]
    )
    assert comment.thread.resolved
    await threads.settle(services, run, drawn)
    assert comment.thread.resolved


async def test_a_thread_that_cannot_be_changed_keeps_no_other_from_it(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    unused = APP.replace("import os\n", "import os\nimport sys\n")
    await alice.push(repository, "feature", {"app.py": unused, "b.py": "print(one)\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    first, second = story.comments(pull)
    story.github.faults.add(kind="before", method="PATCH", path=rf"/comments/{first.id}$", status=422, times=None)
    await alice.push(repository, "feature", {"app.py": APP, "b.py": "print()\n"})
    await story.settle()
    assert not first.thread.resolved
    assert second.thread.resolved
    assert second.body.startswith("**No longer applies**")


@pytest.mark.tells("sender")  # who resolved a thread
async def test_a_run_ends_before_it_waits_for_comments_that_github_does_not_show(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    story.github.faults.add(kind="truncated", path=r"/reviews/\d+/comments$", times=3)
    head = await alice.push(repository, "feature", {"b.py": "print(one)\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [run] = await story.runs()
    steps = [step["function_name"] for step in await DBOS.list_workflow_steps_async(run.id)]
    assert steps.index("conclude the check") < steps.index("finish") < steps.index("know the comments")
    assert steps.index("know the comments") < steps.index("settle the threads")
    [comment] = story.comments(pull)
    await carol.resolve(comment.thread)  # which is known
    await story.settle()
    assert story.check(repository, head).conclusion == "neutral"
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["`carol` resolved this thread without a change, so **F-VRZWPT** is dismissed. Le…"]
    )


async def test_a_comment_may_say_again_what_it_said_before(story: Story) -> None:
    """Within one run, which may go on behind a gate."""
    _, _, _, comment = await _open_with_fix(story)
    [row] = await story.runs()
    run = await runs.get(story.forge.services.database, row.id)
    assert run is not None
    for text in ("One.", "Another.", "One."):
        await reviews.edit_comment(story.forge.services, run, comment.id, text)
        assert comment.body == text


@pytest.mark.parametrize("is_heard", [True, False])
async def test_no_comments_are_waited_for_that_github_did_not_take(story: Story, is_heard: bool) -> None:
    """The review was posted without them, whether or not Forge heard that it was."""
    repository, alice = story.repository({"app.py": APP})
    story.github.faults.add(kind="before", method="POST", path=r"/pulls/\d+/reviews$", status=422)
    if not is_heard:
        story.github.faults.add(kind="after", method="POST", path=r"/pulls/\d+/reviews$", status=502)
    head = await alice.push(repository, "feature", {"b.py": "print(one)\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    assert story.comments(pull) == []
    assert len(story.reviews(pull)) == 1
    assert [each["path"] for each in story.check(repository, head).annotations] == ["b.py"] * is_heard
    asked = [each for each in story.github.requests if re.search(r"/reviews/\d+/comments$", each.path)]
    assert len(asked) == 1


async def test_no_more_comments_than_the_configuration_allows(story: Story) -> None:
    few = "review: {max_comments: 2, model: never}\n"
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": few})
    mixed = 'import re\n\n\ndef f(a):\n    if a is "x":\n        raise NotImplemented\n    return one\n'
    head = await alice.push(repository, "feature", {"b.py": mixed}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    assert [comment.line for comment in story.comments(pull)] == [6, 7]
    [review] = story.reviews(pull)
    assert "2 more findings in the check `Forge / review`." in review.body
    summary = story.check(repository, head).summary or ""
    assert all(f"[`ruff/{rule}`]" in summary for rule in ("F821", "F632", "F901", "F401"))
    assert summary.count("💬") == 2


def _function(number: int) -> str:
    return (
        f'def f_{number}(a, b):\n    """Do {number}."""\n    a = a + {number}\n    b = b * {number}\n'
        f"    print(name_{number})\n    a = b - {number}\n    return a, b\n"
    )


async def test_a_shared_comment_keeps_its_subject_and_its_words_when_lines_move(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    one, two = _function(1), _function(2)
    await alice.push(repository, "feature", {"b.py": f"{one}\n\n{two}"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [comment] = story.comments(pull)
    said = comment.body
    assert "Undefined name `name_1`. Running" in said
    for content in (f"{two}\n\n{one}", f"# A line more.\n{one}\n\n{two}"):
        await alice.push(repository, "feature", {"b.py": content})
        await story.settle()
        assert comment.body == said
    await alice.push(repository, "feature", {"b.py": f"{two}\n\n# Another line.\n{one.replace('name_1', '1')}"})
    await story.settle()
    assert "Undefined name `name_1`. Running this line raises a NameError" in comment.body
    assert "*(no longer here)*" in comment.body


async def test_a_suggestion_in_a_thread_with_a_reply_goes_too(story: Story) -> None:
    repository, alice, _, comment = await _open_with_fix(story)
    await story.github.user("carol").reply(comment, "Are you sure?")
    await alice.push(repository, "feature", {"app.py": USED})
    await story.settle()
    assert not comment.thread.resolved
    assert "```suggestion" not in comment.body


async def test_findings_of_one_rule_stand_in_one_comment(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    names = [f"name_{number}" for number in range(5)]
    broken = APP + "".join(f"\n\nprint({name})\n" for name in names)
    head = await alice.push(repository, "feature", {"app.py": broken, "b.py": "print(other)\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [comment] = story.comments(pull)
    assert comment.body == snapshot("""\
🔴 **Error** · correctness · 6 places

Undefined name `name_0`. Running this line raises a NameError; define or import the name, or correct its spelling.

Also here:

- `app.py:11` F-NNQ7BJ: Undefined name `name_1`
- `app.py:14` F-B7PBX6: Undefined name `name_2`
- `app.py:17` F-XDIJNZ: Undefined name `name_3`
- `app.py:20` F-C7C36H: Undefined name `name_4`
- `b.py:1` F-775MAX: Undefined name `other`

<sub>F-N66PXN · [`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name) · confidence 95%</sub>

<sub>Not a problem? Reply `/forge dismiss` and say why, for all of them, or `/forge dismiss F-ID` for one. It takes write access; the author may where nobody else has it.</sub>\
""")
    assert story.check(repository, head).title == "Changes requested: 6 findings to fix"

    await carol.reply(comment, f"/forge dismiss {_names(comment)[1]} injected")
    await story.settle()
    assert story.check(repository, head).title == "Changes requested: 5 findings to fix"
    assert not comment.thread.resolved

    head = await alice.push(repository, "feature", {"b.py": "print()\n"})
    await story.settle()
    assert story.check(repository, head).title == "Changes requested: 4 findings to fix"
    assert len(story.comments(pull)) == 1
    assert comment.body.count("*(no longer here)*") == 1
    assert not comment.thread.resolved

    await carol.reply(comment, "/forge dismiss all of them are injected")
    await story.settle()
    assert story.check(repository, head).title == "Needs a human review"
    assert story.gates(pull) == ["human_review"]
    assert comment.thread.resolved
    assert "are dismissed" in story.thread_answers(pull, comment)[-1].body


@pytest.mark.tells("sender")  # who resolved a thread
async def test_resolving_a_shared_comment_dismisses_all_of_it(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    head = await alice.push(repository, "feature", {"b.py": "print(one)\nprint(two)\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [comment] = story.comments(pull)
    await carol.resolve(comment.thread)
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    [answer] = story.thread_answers(pull, comment)
    assert all(name in answer.body for name in _names(comment))
    await carol.unresolve(comment.thread)
    await story.settle()
    assert story.check(repository, head).conclusion == "failure"


def _names(comment: ReviewComment) -> list[str]:
    return list(dict.fromkeys(re.findall(r"F-[A-Z2-7]{6}", comment.body)))


async def test_pause_and_unpause(story: Story) -> None:
    repository, alice, _, pull, _ = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    root = story.github.user("root")
    story.github.grant(repository, root, "admin")
    await root.comment(pull, "/forge pause")
    await story.settle()
    head = await alice.push(repository, "feature", {"app.py": APP})
    await story.settle()
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", "Paused")

    await root.comment(pull, "/forge unpause\n/forge review full")
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    assert len(story.answers(pull)) == 2


async def test_status_cost_history_view_explain(story: Story) -> None:
    _, _, carol, pull, _ = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.comment(pull, "/forge status\n/forge cost\n/forge history\n/forge view")
    await carol.reply(comment, "/forge explain")
    await story.settle()
    [answer] = story.answers(pull)
    for part in (
        "**Changes requested: 1 finding to fix**",
        "| Changes requested: 1 finding to fix |",
        "0 tokens",
        "budget of the review phase",
        "200.00 USD",
        "| began | head |",
        "request changes",
    ):
        assert part in answer.body
    [explained] = story.thread_answers(pull, comment)
    assert "ruff/F821" in explained.body
    assert "Open. It blocks the pull request." in explained.body
    name = comment.body.split("<sub>")[1].split(" ")[0]
    head = await story.github.user("alice").push(pull.repository, "feature", {"app.py": "print(1)\n"})
    await story.settle()
    await carol.comment(pull, f"/forge explain {name}")
    await story.settle()
    told = story.answers(pull)[-1].body
    assert f"Fixed: `{head[:7]}` does not have it any more, so it holds nothing." in told
    assert "blocks" not in told


async def test_unknown_verbs_and_environments(story: Story) -> None:
    _, _, carol, pull, _ = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    await carol.comment(pull, "/forge reveiw\n/forge deploy staging")
    await story.settle()
    [answer] = story.answers(pull)
    assert bodies([answer]) == snapshot(
        [
            """\
**`/forge reveiw`**

`/forge reveiw` is not a command. Did you mean `/forge review [full or EFFORT]`?

**`/forge deploy staging`**

Refused: `/forge deploy` needs the role maintain; `carol` has write.\
"""
        ]
    )


async def test_merge_queue_gets_the_verdict_of_the_reviewed_head(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    await alice.push(repository, "feature", {"app.py": APP + "\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    queued = story.github.queue_for_merge(pull)
    await story.settle()
    assert story.check(repository, queued).conclusion == "success"


async def test_too_many_pushes_within_an_hour(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"note.md": "0\n"}, base="main")
    await alice.open_pull_request(repository, "feature")
    await story.settle()
    for number in range(1, PER_PULL_REQUEST + 1):
        head = await alice.push(repository, "feature", {"note.md": f"{number}\n"})
        await story.wait_for_runs(number + 1)  # and the next one supersedes it
    await story.settle()
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", "Too many reviews")

    await alice.rerequest(check)
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
