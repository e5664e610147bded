"""What people say to Forge on GitHub, and what it answers."""

import re

import pytest
from dbos import DBOS
from inline_snapshot import snapshot

from domain.events import EventType
from memory import ledger
from memory.runs import checkpoints, runs
from messages.audit import describe_event
from pipeline.publishing import reviews
from pipeline.verdicts import threads
from safety.eligibility import PER_PULL_REQUEST
from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment, Role
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.automation import APP, BROKEN
from tests.world.replies import bodies, first_lines


async def _open_reviewed(story: Story) -> tuple[Repository, User, User, PullRequest, str]:
    """A reviewed pull request of alice with one blocking finding, and carol, who may write, too."""
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})
    return repository, alice, carol, pull, head


async def test_help_is_answered_once(story: Story) -> None:
    _, alice, _, pull, _ = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    asked = await story.after(alice.comment(pull, "Hello!\n\n/forge help\n"))
    [answer] = story.answers(pull)
    assert bodies([answer]) == snapshot(
        [
            """\
Write a command at the start of a line, one per line; words of your own go on below it up to the next command. Edited comments, quotes and code are not read. `/forge help VERB` says more about one. They take the role write where no other is named.

| command | what it does | for example |
| --- | --- | --- |
| `/forge do INSTRUCTION` | make the change you describe, as a commit on this pull request's branch; in a review thread it is about that thread's lines | `/forge do let days_left return 0 when the parcel is late, with a test` |
| `/forge update [ANSWER]` | merge the base branch into this pull request, and resolve the conflicts that are clear; about the others it asks, and `ANSWER` says what to do | `/forge update keep both lines, ours first` |
| `/forge mend [ANSWER]` | find out why the build or another check is red here, and mend what this pull request broke; if it is still red once the checks ran again, Forge tries once more; `ANSWER`: to what was asked |  |
| `/forge tests [PATH]` | write tests for what this pull request, or one file of it, leaves untested, as a commit on its branch | `/forge tests shop/cart.py` |
| `/forge address` | do what people ask for in the open review threads; each thread is answered with its commit or with why not |  |
| `/forge fix F-ID or all` | fix a finding in a commit on the branch; `all`: what can be fixed of the open findings, in one | `/forge fix F-AB2CDE` |
| `/forge review [full or EFFORT]` | review this head; `full`: from scratch; the same with an effort of its own: `low`, `standard`, `deep` (role: triage; on a fork: write) | `/forge review deep` |
| `/forge rollback C-ID [PATH …] or ENV` | take back what Forge committed, all of it or only these files; or bring an environment back to what ran there before (role: write; production: maintain) | `/forge rollback C-ID` |
| `/forge ask QUESTION` | answer a question from the code of this pull request; on an issue, from that of the default branch | `/forge ask who calls arrival() without a date?` |
| `/forge describe [apply]` | propose a title and a description for this pull request; `apply`: set what was proposed (role: write, or the author) |  |

<details><summary>All other commands</summary>

**On a pull request**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge walkthrough` | write | explain this pull request part by part, in the order to read it |
| `/forge changelog` | write | add the entry of this pull request to the repository's changelog |
| `/forge test` | triage; on a fork: write | run the tests of this head |

**On an issue**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge run [MODE]` | write | plan this issue, carry it out and open a pull request; in a mode of its own: `deterministic`, `interactive` |
| `/forge plan` | write | plan this issue, nothing more |

**About findings**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge explain F-ID` | triage | a finding in more words |
| `/forge why F-ID` | read | what led to a finding, and what dismissals make of it |
| `/forge dismiss F-ID [file: or repository:] reason` | write, not the author where others have it | the finding is wrong or not wanted: do not raise it again; `file:`, `repository:` (role maintain): if it says that a problem was avoided instead of solved, let such findings pass there for 90 days |
| `/forge undismiss F-ID` | write | take back what was said about a finding |
| `/forge confirm F-ID reason` | write, not the author where others have it | the finding that a problem was avoided instead of solved is right: it blocks until it is mended |
| `/forge missed description` | write | report a critical bug Forge did not see |

**To answer what Forge asks people** (none here now): `approve`, `reject`, `delegate`, `suggest`, `continue`, `accept`

**About what runs**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge cancel` | write | stop the run, keep what it has so far |
| `/forge retry [recovery]` | write | run what failed again; `recovery`: where Forge asks for help because it is stuck, let it try anew |
| `/forge resume` | write | go on where the run stopped |
| `/forge abort` | write | end the run and clean up |
| `/forge pause [here]` | admin; here: write | stop everything in this repository now; `here`: leave this place alone |
| `/forge unpause [here]` | admin; here: write | let Forge work again |

**To look something up**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge help [VERB]` | read | all commands, or one |
| `/forge status` | read | what Forge is doing here and what it waits for |
| `/forge view [GATE]` | read | the last verdict with its reasons and open findings |
| `/forge history [F-ID or GATE]` | read | every run here and how it ended, with those of the issue's pull request or the pull request's issue; what the newest one tried, step by step. Of a finding that says that a problem was avoided instead of solved: what the same rule found here before, and what became of it |
| `/forge diff [F-ID or GATE]` | read | what Forge changed here: its commits and their diff; of findings: the commit that fixed one, or else their lines before and after |
| `/forge cost` | read | what was spent here, and what is left |
| `/forge level [N]` | read; to set it: admin | the automation level, from 0 to 4 |

**About what Forge learns**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge remember text or M-ID` | write, not the author where others have it | teach Forge something; `M-ID`: keep something that it proposes to learn |
| `/forge forget M-ID` | write, not the author where others have it | make Forge forget something it learned |

**About deployments**

| command | minimum role | meaning |
| --- | --- | --- |
| `/forge deploy ENV [hold, go-on or cancel]` | write; production: maintain | deploy what was merged (on an issue: the default branch); or hold, continue or end what is being deployed |

`F-…` is a finding, `C-…` a commit of Forge, `M-…` something it learned, and `GATE` a question that it asks people: each stands in the comment about it. In a reply to a finding its name can be left out, and where only one question waits, that of the question.

</details>\
"""
        ]
    )
    assert [reaction.content for reaction in asked.reactions] == ["eyes"]


async def test_dismissed_finding_stays_away(story: Story) -> None:
    repository, alice, carol, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await story.after(carol.reply(comment, "/forge dismiss the name is injected at run time"))

    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            "**F-AEGTUI** is dismissed: the name is injected at run time. Forge does not raise it again here, nor where the same rule meets the same code. Learned (M-ID): only what was dismissed, not its rule. `/forge undismiss F-AEGTUI` undoes this."
        ]
    )
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    assert "### Dismissed" in (check.summary or "")

    again = await story.after(alice.push(repository, "feature", {"README.md": "# More\n"}))
    assert story.check(repository, again).conclusion == "neutral"
    assert len(story.comments(pull)) == 1

    second, other = await story.propose(repository, alice, {"app.py": BROKEN, "x.md": "x\n"}, "other")
    assert story.check(repository, other).conclusion == "neutral"
    assert story.comments(second) == []


async def test_author_does_not_dismiss(story: Story) -> None:
    repository, alice, _, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await story.after(alice.reply(comment, "/forge dismiss I know better"))
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            (
                "Refused: `/forge dismiss` is not for the author of the change. Someone else here has the role write, and "
                "can. Its authors are whoever opened it, pushed to it, or asked Forge for a commit to it."
            )
        ]
    )
    assert story.check(repository, head).conclusion == "failure"


@pytest.mark.parametrize("role", ["read", "write"])
async def test_a_finding_that_does_not_exist_is_told_before_any_role(story: Story, role: Role) -> None:
    """No role, and nobody else, could dismiss it."""
    repository, alice, _, pull, _ = await _open_reviewed(story)
    story.github.grant(repository, alice, role)
    story.comments(pull)
    await story.after(alice.comment(pull, "/forge dismiss F-AAAAAA I know better"))
    assert bodies(story.answers(pull)) == snapshot(
        ["There is no finding `F-AAAAAA` here. There is `F-AEGTUI` (`app.py:5`)."]
    )


async def test_author_who_is_alone_dismisses_with_a_reason(story: Story) -> None:
    """By command, which gives a reason; the receipt and the audit say so. A thread without one stays a hint."""
    repository, alice, carol, pull, head = await _open_reviewed(story)
    story.github.revoke(repository, carol)
    [comment] = story.comments(pull)
    await story.after(alice.resolve(comment.thread))
    assert story.thread_answers(pull, comment) == []
    assert story.check(repository, head).conclusion == "failure"
    await story.after(alice.reply(comment, "/forge dismiss it is injected"))
    [answer] = story.thread_answers(pull, comment)
    assert answer.body.startswith(f"**{_names(comment)[0]}** is dismissed: it is injected.")
    assert "It is your own change: you may, because nobody else here has the role" in answer.body
    assert story.check(repository, head).conclusion == "neutral"
    [past] = await runs.list_for_pull_request(story.forge.services.database, repository.id, pull.number)
    told = await ledger.load_events(story.forge.services.database, past.run.id)
    [said] = [describe_event(each) for each in told if each.type is EventType.feedback_dismissed]
    assert (said.who, said.words) == ("alice", "it is injected")
    assert said.why == "nobody else has the role, so the rule on authors was waived"


@pytest.mark.parametrize(("words", "stays_open"), [("Are you sure?", True), ("/forge explain", False)])
async def test_thread_with_a_persons_reply_stays_open(story: Story, words: str, stays_open: bool) -> None:
    repository, alice, carol, pull, _ = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.reply(comment, words)
    await story.after(alice.push(repository, "feature", {"app.py": APP.replace("os.name", "os.sep")}))
    assert comment.thread.resolved is not stays_open
    story.pass_over(pull)


async def _open_with_fix(story: Story) -> tuple[Repository, User, PullRequest, ReviewComment]:
    """A pull request of alice in which the deletion of an import is offered."""
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": APP.replace("import os\n", "import os\nimport sys\n")})
    [comment] = story.comments(pull)
    assert "```suggestion" in comment.body
    return repository, alice, pull, comment


USED = APP.replace("import os\n", "import os\nimport sys\n") + "\n\nprint(sys.argv)\n"


async def test_a_suggestion_that_would_break_the_code_cannot_be_applied(story: Story) -> None:
    """The line of the comment did not change: GitHub calls the thread as new as ever."""
    repository, alice, pull, comment = await _open_with_fix(story)
    head = await story.after(alice.push(repository, "feature", {"app.py": USED}))
    assert story.check(repository, head).conclusion == "neutral"
    assert not comment.thread.outdated
    assert comment.thread.resolved
    assert comment.body.startswith(f"**No longer applies** (`{head[:7]}`).\n\n`sys` imported but unused.")
    assert "suggestion" not in comment.body

    await story.after(alice.push(repository, "feature", {"app.py": USED.replace("sys.argv", "os.name")}))
    assert comment.body.startswith("🟡 **Warning** · correctness")
    assert "```suggestion" not in comment.body  # which lines it would replace is not what it was
    assert len(story.comments(pull)) == 1


@pytest.mark.tells("sender")  # who resolved a thread
async def test_what_comes_back_opens_the_thread_that_forge_resolved(story: Story) -> None:
    repository, alice, pull, comment = await _open_with_fix(story)
    carol = story.member(repository, "carol", "write")
    offered = repository.git.read(pull.head_sha, "app.py") or b""
    for thread_is_resolved, content in ((True, USED), (False, offered)):
        await story.after(alice.push(repository, "feature", {"app.py": content}))
        assert comment.thread.resolved is thread_is_resolved
    assert comment.body.startswith("🟡 **Warning** · correctness")

    await carol.resolve(comment.thread)  # by a person, that is a dismissal
    for content in (USED, offered):
        await story.after(alice.push(repository, "feature", {"app.py": content}))
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
    await story.after(carol.reply(comment, "/forge dismiss it is set elsewhere"))
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["**F-AEGTUI** is dismissed: it is set elsewhere. Forge does not raise it again h…"]
    )
    assert comment.thread.resolved
    await threads.settle(services, run, drawn)
    assert comment.thread.resolved


async def test_a_thread_that_cannot_be_changed_keeps_no_other_from_it(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    unused = APP.replace("import os\n", "import os\nimport sys\n")
    pull, _ = await story.propose(repository, alice, {"app.py": unused, "b.py": "print(one)\n"})
    first, second = story.comments(pull)
    story.github.faults.add(kind="before", method="PATCH", path=rf"/comments/{first.id}$", status=422, times=None)
    await story.after(alice.push(repository, "feature", {"app.py": APP, "b.py": "print()\n"}))
    assert not first.thread.resolved
    assert second.thread.resolved
    assert second.body.startswith("**No longer applies**")


@pytest.mark.tells("sender")  # who resolved a thread
async def test_a_run_ends_before_it_waits_for_comments_that_github_does_not_show(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    story.github.faults.add(kind="truncated", path=r"/reviews/\d+/comments$", times=3)
    pull, head = await story.propose(repository, alice, {"b.py": "print(one)\n"})
    [run] = await story.runs()
    steps = [step["function_name"] for step in await DBOS.list_workflow_steps_async(run.id)]
    assert steps.index("conclude the check") < steps.index("finish") < steps.index("know the comments")
    assert steps.index("know the comments") < steps.index("settle the threads")
    [comment] = story.comments(pull)
    await carol.resolve(comment.thread)  # which is known
    await story.settle()
    assert story.check(repository, head).conclusion == "neutral"
    assert bodies(story.thread_answers(pull, comment)) == snapshot(
        [
            "`carol` resolved this thread without a change, so **F-VRZWPT** is dismissed. Learned (M-ID): only what was dismissed, not its rule. `/forge undismiss F-VRZWPT` undoes this; `/forge dismiss F-VRZWPT reason` adds why."
        ]
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
    pull, head = await story.propose(repository, alice, {"b.py": "print(one)\n"})
    assert story.comments(pull) == []
    assert len(story.reviews(pull)) == 1
    assert [each["path"] for each in story.check(repository, head).annotations] == ["b.py"] * is_heard
    asked = [each for each in story.github.requests if re.search(r"/reviews/\d+/comments$", each.path)]
    assert len(asked) == 1


async def test_no_more_comments_than_the_configuration_allows(story: Story) -> None:
    few = "review: {max_comments: 2, model: never}\n"
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": few})
    mixed = 'import re\n\n\ndef f(a):\n    if a is "x":\n        raise NotImplemented\n    return one\n'
    pull, head = await story.propose(repository, alice, {"b.py": mixed})
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
    pull, _ = await story.propose(repository, alice, {"b.py": f"{one}\n\n{two}"})
    [comment] = story.comments(pull)
    said = comment.body
    assert "Undefined name `name_1`. Running" in said
    for content in (f"{two}\n\n{one}", f"# A line more.\n{one}\n\n{two}"):
        await story.after(alice.push(repository, "feature", {"b.py": content}))
        assert comment.body == said
    await alice.push(repository, "feature", {"b.py": f"{two}\n\n# Another line.\n{one.replace('name_1', '1')}"})
    await story.settle()
    assert "Undefined name `name_1`. Running this line raises a NameError" in comment.body
    assert "*(no longer here)*" in comment.body


async def test_a_suggestion_in_a_thread_with_a_reply_goes_too(story: Story) -> None:
    repository, alice, _, comment = await _open_with_fix(story)
    await story.github.user("carol").reply(comment, "Are you sure?")
    await story.after(alice.push(repository, "feature", {"app.py": USED}))
    assert not comment.thread.resolved
    assert "```suggestion" not in comment.body


async def test_findings_of_one_rule_stand_in_one_comment(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    names = [f"name_{number}" for number in range(5)]
    broken = APP + "".join(f"\n\nprint({name})\n" for name in names)
    pull, head = await story.propose(repository, alice, {"app.py": broken, "b.py": "print(other)\n"})
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

<sub>F-N66PXN · [`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why (with an F-ID: only that one)</sub>\
""")
    assert story.check(repository, head).title == "Changes requested: 6 findings to fix"

    await story.after(carol.reply(comment, f"/forge dismiss {_names(comment)[1]} injected"))
    assert story.check(repository, head).title == "Changes requested: 5 findings to fix"
    assert not comment.thread.resolved

    head = await story.after(alice.push(repository, "feature", {"b.py": "print()\n"}))
    assert story.check(repository, head).title == "Changes requested: 4 findings to fix"
    assert len(story.comments(pull)) == 1
    assert comment.body.count("*(no longer here)*") == 1
    assert not comment.thread.resolved

    await story.after(carol.reply(comment, "/forge dismiss all of them are injected"))
    assert story.check(repository, head).title == "Linters found nothing; no model read the logic"
    assert story.gates(pull) == []
    assert comment.thread.resolved
    assert "are dismissed" in story.thread_answers(pull, comment)[-1].body


@pytest.mark.tells("sender")  # who resolved a thread
async def test_resolving_a_shared_comment_dismisses_all_of_it(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    pull, head = await story.propose(repository, alice, {"b.py": "print(one)\nprint(two)\n"})
    [comment] = story.comments(pull)
    await story.after(carol.resolve(comment.thread))
    assert story.check(repository, head).conclusion == "neutral"
    [answer] = story.thread_answers(pull, comment)
    assert all(name in answer.body for name in _names(comment))
    await story.after(carol.unresolve(comment.thread))
    assert story.check(repository, head).conclusion == "failure"


def _names(comment: ReviewComment) -> list[str]:
    return list(dict.fromkeys(re.findall(r"F-[A-Z2-7]{6}", comment.body)))


async def test_status_cost_history_view_explain(story: Story) -> None:
    _, _, carol, pull, _ = await _open_reviewed(story)
    [comment] = story.comments(pull)
    await carol.comment(pull, "/forge status\n/forge cost\n/forge history\n/forge view")
    await story.after(carol.reply(comment, "/forge explain"))
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
    head = await story.after(story.github.user("alice").push(pull.repository, "feature", {"app.py": "print(1)\n"}))
    await story.after(carol.comment(pull, f"/forge explain {name}"))
    told = story.answers(pull)[-1].body
    assert f"`{head[:7]}` does not have it any more. Its code changed." in told
    assert "blocks" not in told


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_finding_of_an_earlier_head_is_explained_before_the_newest_is_reviewed(
    story: Story, is_kept: bool
) -> None:
    _, alice, carol, pull, head = await _open_reviewed(story)
    [comment] = story.comments(pull)
    root = story.member(pull.repository, "root", "admin")
    await story.after(root.comment(pull, "/forge pause"))
    newest = await alice.push(pull.repository, "feature", {"app.py": f"# more\n{BROKEN}" if is_kept else APP})
    await story.after(carol.reply(comment, "/forge explain"))
    told = story.thread_answers(pull, comment)[-1].body
    became = "is unchanged" if is_kept else "changed"
    assert f"Found at `{head[:7]}`. `{newest[:7]}` is not reviewed yet. Its code {became}." in told
    assert "Open." not in told
    story.pass_over(pull)


async def test_unknown_verbs_and_environments(story: Story) -> None:
    _, _, carol, pull, _ = await _open_reviewed(story)
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    await story.after(carol.comment(pull, "/forge reveiw\n/forge deploy staging"))
    assert bodies(story.answers(pull)) == snapshot(
        [
            """\
**`/forge reveiw`**

`/forge reveiw` is not a command. Did you mean `/forge review [full or EFFORT]`?

**`/forge deploy staging`**

Refused: `/forge deploy` needs the role maintain; `carol` has write.\
"""
        ]
    )


async def test_what_people_write_in_place_of_a_verb(story: Story) -> None:
    _, _, carol, pull, _ = await _open_reviewed(story)
    story.comments(pull)
    written = ("undo", "resolve conflicts", "make it green", "merge", "fix the red build", "paint it in blue")
    await story.after(carol.comment(pull, "\n".join(f"/forge {words}" for words in written)))
    [answer] = story.answers(pull)
    told = [line for line in answer.body.split("\n") if "is not a command" in line]
    assert [line.split("Did you mean ")[-1] for line in told] == [
        "`/forge rollback C-ID [PATH …] or ENV`?",
        "`/forge update [ANSWER]`?",
        "`/forge mend [ANSWER]`? To have something done in your own words: `/forge do …`.",
        "`/forge merge` is not a command: people merge, on GitHub. `/forge update` takes the base into the branch.",
        "`/forge mend [ANSWER]`? To have something done in your own words: `/forge do …`.",
        (
            "`/forge paint it in blue` is not a command. `/forge help` lists the commands. "
            "To have something done in your own words: `/forge do …`."
        ),
    ]


async def test_too_many_pushes_within_an_hour(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    _, head = await story.propose(repository, alice, {"note.md": "0\n"})
    for number in range(1, PER_PULL_REQUEST + 1):
        head = await alice.push(repository, "feature", {"note.md": f"{number}\n"})
        await story.wait_for_runs(number + 1)  # and the next one supersedes it
    await story.settle()
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", "Too many reviews")

    await story.after(alice.rerequest(check))
    assert story.check(repository, head).conclusion == "success"
