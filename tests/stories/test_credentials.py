"""A credential in a pull request: no comment excuses it, and deleting its line does not undo it."""

import re

from simulator import Commit, User
from simulator.state import PullRequest, Repository
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.automation import APP
from tests.world.credentials import KEY, LEAKING

OTHER = "AKIA" + "M3XW8ERT5YUI2OPB"
WAS_IT = "A credential is in the history: was it revoked?"
SETTLED = "security_findings: Void: there is nothing left to decide"


async def _open_reviewed(story: Story, content: str) -> tuple[Repository, User, User, PullRequest, str]:
    """A reviewed pull request of alice, and carol, who may write, too."""
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    pull, head = await story.propose(repository, alice, {"app.py": content})
    return repository, alice, carol, pull, head


async def test_deleted_credential_is_revoked_by_a_person(story: Story) -> None:
    repository, alice, carol, pull, head = await _open_reviewed(story, LEAKING)
    assert story.check(repository, head).conclusion == "failure"
    assert story.gates(pull) == ["security_findings"]
    [comment] = story.comments(pull)

    head = await story.after(alice.push(repository, "feature", {"app.py": APP + "\nVALUE = 1\n"}))
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", WAS_IT)
    summary = check.summary or ""
    assert "A credential was in an earlier commit and is in the history: revoke it" in summary
    assert "Once it is revoked: `/forge dismiss F-" in summary
    assert KEY not in summary
    assert not comment.thread.resolved
    assert (story.gates(pull), story.gate_outcomes(pull)) == ([], [SETTLED])  # no approval stands for that word

    await story.after(alice.reply(comment, "/forge dismiss revoked"))
    assert story.check(repository, head).conclusion == "action_required"

    await story.after(carol.reply(comment, "/forge dismiss revoked"))
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    assert "### Dismissed" in (check.summary or "")
    assert comment.thread.resolved
    [run, _] = await story.runs()
    assert run.state == "completed"

    head = await story.after(alice.push(repository, "feature", {"README.md": "# More\n"}))
    assert story.check(repository, head).conclusion == "neutral"

    [name] = re.findall(r"F-[A-Z2-7]{6}", comment.body)
    await story.after(carol.comment(pull, f"/forge undismiss {name}"))
    assert len(story.answers(pull)) == 1
    assert len(story.thread_answers(pull, comment)) == 2
    assert story.check(repository, head).conclusion == "action_required"


async def test_an_approval_is_no_word_on_what_has_to_be_revoked(story: Story) -> None:
    """A large change asks for a review, too; whoever approves that says nothing of the credential."""
    repository, alice, carol, pull, _ = await _open_reviewed(story, LEAKING)
    story.github.grant(repository, carol, "maintain")
    large = {f"auth/login_{n}.py": "".join(f"VALUE_{i} = {i} + {n}\n" for i in range(200)) for n in range(8)}
    head = await alice.push(repository, "feature", {"app.py": APP, **large, "Dockerfile": "FROM python:3.12\n"})
    await story.settle()
    assert story.gates(pull) == ["human_review"]
    await story.after(carol.comment(pull, "/forge approve"))
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", WAS_IT)
    [name] = re.findall(r"/forge dismiss (F-[A-Z2-7]{6}) revoked", check.summary or "")
    await story.after(carol.comment(pull, f"/forge dismiss {name} revoked"))
    assert story.check(repository, head).conclusion == "success"
    story.pass_over(pull)


async def test_another_credential_excuses_nothing(story: Story) -> None:
    """An author who puts a harmless one in its place, which is dismissed, is still asked about the first."""
    repository, alice, carol, pull, _ = await _open_reviewed(story, LEAKING)
    head = await story.after(alice.push(repository, "feature", {"app.py": LEAKING.replace(KEY, OTHER)}))
    assert story.gates(pull) == ["security_findings"]
    [_, second] = story.comments(pull)
    story.github.grant(repository, carol, "maintain")  # as its gate asks
    await story.after(carol.reply(second, "/forge dismiss made up"))
    assert len(story.thread_answers(pull, second)) == 1
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", WAS_IT)
    assert (story.gates(pull), story.gate_outcomes(pull)) == ([], [SETTLED])


async def test_a_credential_that_moves_is_asked_about_once(story: Story) -> None:
    repository, alice, carol, pull, _ = await _open_reviewed(story, LEAKING)
    head = await story.after(alice.push(repository, "feature", {"app.py": f'{APP}\nMORE = 1\nKEY = "{KEY}"\n'}))
    [first, second] = story.comments(pull)
    assert story.gates(pull) == ["security_findings"]
    assert "### In the history" not in (story.check(repository, head).summary or "")

    head = await story.after(alice.push(repository, "feature", {"app.py": APP + "\nMORE = 1\n"}))
    assert (story.check(repository, head).summary or "").count("Once it is revoked") == 1
    await story.after(carol.reply(second, "/forge dismiss revoked"))
    assert story.check(repository, head).conclusion == "neutral"
    assert story.gate_outcomes(pull) == [SETTLED]
    assert [first.thread.resolved, second.thread.resolved] == [True, True]
    assert len(story.thread_answers(pull, second)) == 1


async def test_a_comment_excuses_no_credential(story: Story) -> None:
    repository, alice, _, pull, _ = await _open_reviewed(story, LEAKING)
    head = await story.after(
        alice.push(repository, "feature", {"app.py": LEAKING.replace('"\n', '"  # pragma: allowlist secret\n')})
    )
    assert story.check(repository, head).conclusion == "failure"
    assert story.gates(pull) == ["security_findings"]
    assert not any(comment.thread.resolved for comment in story.comments(pull))


async def test_a_fork_silences_nothing(story: Story) -> None:
    repository, _ = story.repository({"app.py": APP})
    mallory = story.github.user("mallory")
    fork = await mallory.fork(repository)
    silent = f'{APP}\nKEY = "{KEY}"  # gitleaks:allow\nVALUE = missing  # noqa\nos.system(VALUE + "x")  # nosec\n'
    head = await mallory.push(fork, "feature", {"app.py": silent}, base="main")
    pull = await story.after(mallory.open_pull_request(repository, "feature", head_repo=fork))
    assert story.check(repository, head).conclusion == "failure"
    assert story.gates(pull) == ["security_findings"]
    said = " ".join(comment.body for comment in story.comments(pull))
    for rule in ("secret/aws-access-key", "ruff/F821", "ruff/S605"):
        assert rule in said


async def test_a_member_silences_aloud(story: Story) -> None:
    silent = f"{APP}\nVALUE = missing  # noqa\nos.system(VALUE)  # nosec\n"
    repository, _, _, pull, head = await _open_reviewed(story, silent)
    check = story.check(repository, head)
    assert check.conclusion == "neutral"
    assert story.comments(pull) == []
    summary = check.summary or ""
    assert "1 added line silences findings (`noqa`)" in summary
    assert "1 added line silences findings (`nosec`)" in summary
    assert "| +2 | Silences checks on 2 lines |" in summary


async def test_leaving_all_files_out_covers_no_credential(story: Story) -> None:
    filters = "review: {paths: {exclude: ['docs/**']}}\n"
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": filters})
    pull, _ = await story.propose(repository, alice, {"app.py": LEAKING, "docs/a.md": "A\n"})
    assert len(story.comments(pull)) == 1
    head = await story.after(alice.push(repository, "feature", {"app.py": APP}))
    check = story.check(repository, head)
    assert (check.conclusion, "### In the history" in (check.summary or "")) == ("action_required", True)
    assert (story.gates(pull), story.gate_outcomes(pull)) == ([], [SETTLED])


async def test_a_credential_that_came_and_went_in_one_push(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    commits = [Commit("Add a key", {"keys.py": f'KEY = "{KEY}"\n'}), Commit("Remove it", {"keys.py": "KEY = None\n"})]
    head = await alice.push_commits(repository, "feature", commits, base="main")
    pull = await story.after(alice.open_pull_request(repository, "feature"))
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", WAS_IT)
    assert KEY not in (check.summary or "")
    [name] = re.findall(r"/forge dismiss (F-[A-Z2-7]{6}) revoked", check.summary or "")

    head = await story.after(alice.push(repository, "feature", {"README.md": "# More\n"}))
    assert name in (story.check(repository, head).summary or "")
    await story.after(carol.comment(pull, f"/forge dismiss {name} revoked"))
    assert len(story.answers(pull)) == 1
    assert story.check(repository, head).conclusion == "neutral"


async def test_commits_without_credentials_are_nothing_to_say(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP, "old.py": f'KEY = "{KEY}"\n'})
    commits = [
        Commit("Work on what is there", {"old.py": f'KEY = "{KEY}"\nMORE = 1\n', "a.py": "VALUE = 1\n"}),
        Commit("Move it", {"new.py": f'KEY = "{KEY}"\nMORE = 2\n', "old.py": None, "a.py": "VALUE = 2\n"}),
        Commit("Move it back", {"new.py": None, "old.py": f'KEY = "{KEY}"\n'}),
    ]
    head = await alice.push_commits(repository, "feature", commits, base="main")
    await story.after(alice.open_pull_request(repository, "feature"))
    assert story.check(repository, head).title == UNTHOUGHT
