"""A maintainer who is alone with the role changes a protected file: what he made is asked about once, in one place."""

from inline_snapshot import snapshot

from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.pages import show_page

SETTINGS = ".github/forge.yml"
PASSED = "neutral"  # no model read it, and nothing else is missing


async def propose(story: Story) -> tuple[Repository, User, PullRequest]:
    """Alice, who alone maintains, changes what Forge may do."""
    repository, alice = story.repository({"README.md": "# Shop\n", SETTINGS: "issues: {run: false}\n"})
    story.github.grant(repository, alice, "maintain")
    pull, _ = await story.propose(repository, alice, {SETTINGS: "issues: {run: true}\n"})
    return repository, alice, pull


async def test_who_is_alone_with_the_role_is_asked_in_one_place(story: Story) -> None:
    repository, alice, pull = await propose(story)
    assert show_page(story.github, pull) == snapshot("""\
# A change · #1 · alice · open

===== Forge / review: action_required · Protected files wait for the approval of their author [Review again] =====
- 1 protected path changed, and nobody but alice may approve that
  - .github/forge.yml (Forge: gates, budgets, commands and what models are told)
- Nothing was found by 3 tools; neither a linter nor a model read 1 file beside the source
  - .github/forge.yml

**Next:** press **Approve** at the check `Forge / gate: protected_paths`, or comment `/forge approve`.

<details><summary>Risk · what ran · N s</summary>

### Risk: medium (25 of 100)

| points | why |
| --- | --- |
| +25 | Changes what programs may obey, such as settings: .github/forge.yml |

Medium is 25 to 49, high 50 to 74, critical more. Points besides those for changed behaviour: 0; from 18 on a person is asked.

### What ran

| check | tool | files | time | |
| --- | --- | --- | --- | --- |
| static analysis | `syntax` | 1 | N s | done |
| static analysis | `avoidance` | 1 | N s | done |
| security | `detect-secrets` | 1 | N s | done |
| model | | | | Not read by a model: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |

Tools ran in PLACE.

<sub>1 file, +1 −1 · SHA…SHA</sub>

</details>

===== Forge / config: success · Valid =====
`.github/forge.yml` is valid.

| changes | now | then |
| --- | --- | --- |
| `issues.run` | `false` | `true` |

The version of this pull request takes effect only once it is on the default branch.

===== Forge / gate: protected_paths: action_required · Waiting until TIME for alice [Approve] [Reject] [View] =====
- 1 protected path changed
  - .github/forge.yml (Forge: gates, budgets, commands and what models are told)

`alice` made all of this change, and nobody else here has the role maintain, so nobody else is asked. Press **Approve**, or comment `/forge approve`. A push voids the question.\
""")
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / gate: protected_paths")
    await story.after(alice.press(check, "approve"))
    assert not pull.comments
    assert story.check(repository, pull.head_sha).title == snapshot("Nothing found; no linter or model read 1 file")


async def test_one_command_does_it_too(story: Story) -> None:
    repository, alice, pull = await propose(story)
    story.clock.move(seconds=2)
    await story.after(alice.comment(pull, "/forge approve"))
    [said] = story.answers(pull)
    assert "is approved. The run continues. Nobody else has the role" in said.body
    assert story.check(repository, pull.head_sha).conclusion == PASSED


async def test_what_somebody_else_pushed_to_it_is_asked_in_a_comment(story: Story) -> None:
    """Bob may write, so part of it is not of who decides; who else maintains is asked as well."""
    repository, alice, pull = await propose(story)
    bob, carol = story.github.user("bob"), story.github.user("carol")
    story.github.grant(repository, bob, "write")
    story.clock.move(seconds=2)
    await story.after(bob.push(repository, "feature", {SETTINGS: "issues: {run: true}\nautomation: {level: 1}\n"}))
    [question] = story.questions(pull)
    assert "Who decides:" in question.body
    story.github.grant(repository, carol, "maintain")
    story.clock.move(seconds=2)
    await story.after(alice.comment(pull, "/forge approve"))
    assert "cannot be decided by the author of the change" in story.answers(pull)[-1].body
    story.pass_over(pull)


async def test_who_gets_the_role_later_decides(story: Story) -> None:
    """The question was put to alice alone, and now is not hers any more."""
    repository, alice, pull = await propose(story)
    carol = story.member(repository, "carol", "maintain")
    [check] = story.github.check_runs(repository, pull.head_sha, "Forge / gate: protected_paths")
    await story.after(alice.press(check, "approve"))
    assert story.check(repository, pull.head_sha).conclusion == "action_required"
    await story.after(carol.press(check, "approve"))
    assert story.check(repository, pull.head_sha).conclusion == PASSED
    story.pass_over(pull)
