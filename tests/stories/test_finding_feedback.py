"""People dismiss, dispute and confirm findings of giving up, and Forge learns from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from domain.review.feedback import FindingFeedback
from domain.runs.run import RepositoryRef
from memory import findings, gates
from memory.learned import feedback
from memory.reports.metrics import load_weekly
from simulator import User
from simulator.state import CheckRun, PullRequest, Repository
from tests.stories.driver import Story

NAMES = ("north", "south", "west", "east")
TESTS = {f"tests/test_{name}.py": f"def test_{name}():\n    assert {name!r}.isalpha()\n" for name in NAMES}
FILES = {
    ".github/forge.yml": "avoidance: {test_skipped: gate}\n",
    "shop.py": "def total(prices):\n    return sum(prices)\n",
    **TESTS,
}


def skip(*names: str) -> dict[str, str | None]:
    """A change that skips some tests."""
    return {
        f"tests/test_{name}.py": f"import pytest\n\n\n@pytest.mark.skip\n{TESTS[f'tests/test_{name}.py']}"
        for name in names
    }


@dataclass
class Scene:
    """A pull request of alice, who may write; bob may, too, and carol maintains."""

    story: Story
    repository: Repository
    alice: User
    bob: User
    carol: User
    pull: PullRequest

    @property
    def gates(self) -> list[str]:
        return self.story.gates(self.pull)

    @property
    def conclusion(self) -> str | None:
        return self.check.conclusion

    @property
    def check(self) -> CheckRun:
        return self.story.check(self.repository, self.pull.head_sha)

    @property
    def finding(self) -> str:
        """The id of the one finding, which the check's summary names."""
        [name] = set(re.findall(r"F-[A-Z2-7]{6}", self.check.summary or ""))
        return name

    async def say(self, who: User, words: str) -> str:
        """Somebody comments; what Forge answers, and what is decided by it."""
        before, decided = {each.id for each in self.story.answers(self.pull)}, self.story.decisions(self.pull)
        self.story.clock.move(seconds=2)
        await self.story.after(who.comment(self.pull, words))
        said = [each.body for each in self.story.answers(self.pull) if each.id not in before]
        return "\n".join([*said, *(text for text in self.story.decisions(self.pull) if text not in decided)])

    async def propose(self, name: str, changed: Mapping[str, str | None]) -> "Scene":
        """Another pull request of alice in the same repository."""
        pull, _ = await self.story.propose(self.repository, self.alice, changed, name, title="Tidy up")
        self.story.pass_over(pull)
        return Scene(self.story, self.repository, self.alice, self.bob, self.carol, pull)


async def _begin(story: Story, changed: Mapping[str, str | None] | None = None) -> Scene:
    repository, alice = story.repository(FILES)
    bob, carol = story.github.user("bob"), story.github.user("carol")
    story.github.grant(repository, bob, "write")
    story.github.grant(repository, carol, "maintain")
    pull, _ = await story.propose(repository, alice, changed or skip("north"), "work", title="Tidy up")
    return Scene(story, repository, alice, bob, carol, pull)


async def test_a_false_alarm_counts_no_more_and_is_kept(story: Story) -> None:
    scene = await _begin(story)
    assert scene.gates == ["destructive"]
    name = scene.finding
    said = await scene.say(scene.bob, f"/forge dismiss {name} the suite moved to another repository")
    assert f"**{name}** is dismissed: the suite moved to another repository. It counts no more" in said
    assert (scene.conclusion, scene.gates) == ("neutral", [])  # who dismisses one finding has not read the change
    [kept] = (await _load_dismissed(scene, name)).values()
    assert (kept.word, kept.by, kept.role, kept.reason) == (
        "dismissed",
        "bob",
        "write",
        "the suite moved to another repository",
    )
    assert "is not dismissed" not in await scene.say(scene.carol, f"/forge undismiss {name}")
    assert scene.gates == ["destructive"]
    story.pass_over(scene.pull)


async def _load_dismissed(scene: Scene, name: str) -> Mapping[str, FindingFeedback]:
    database, number = scene.story.forge.services.database, scene.pull.number
    found = await findings.find_by_name(database, scene.repository.id, number, name)
    assert found is not None
    where = RepositoryRef(installation_id=1, id=scene.repository.id, owner="octo-org", name="shop")
    return await feedback.find_dismissed(database, where, number, [found.fingerprint])


async def test_the_author_can_only_have_others_asked(story: Story) -> None:
    scene = await _begin(story)
    name = scene.finding
    assert "asks the others" in await scene.say(scene.alice, f"/forge dismiss {name} it is tested elsewhere")
    assert scene.gates == ["false_positive"]  # about what is disputed, nobody is asked twice
    [question] = [each for each in story.questions(scene.pull) if "Forge asks: false_positive" in each.body]
    assert "alice says that it is wrong: it is tested elsewhere" in question.body
    assert f"/forge confirm {name} why" in question.body
    assert "cannot be decided by the author" in await scene.say(scene.alice, f"/forge dismiss {name} really")
    assert "is dismissed: alice is right" in await scene.say(scene.bob, f"/forge dismiss {name} alice is right")
    assert scene.conclusion == "success"
    [decided] = [
        gate
        for gate in await gates.list_for_pull_request(story.forge.services.database, scene.repository.id, 1)
        if gate.name == "false_positive"
    ]
    assert decided.decision is not None
    assert (decided.state, decided.decision.choice, decided.decision.words) == (
        "approved",
        "approve",
        "alice is right",
    )
    assert decided.decision.shown == decided.request.digest
    story.pass_over(scene.pull)


@pytest.mark.parametrize(
    "words", ["/forge confirm F-ID they still matter", "/forge reject false_positive they still matter"]
)
async def test_a_confirmed_finding_blocks_until_it_is_mended(story: Story, words: str) -> None:
    scene = await _begin(story)
    await scene.say(scene.alice, f"/forge dismiss {scene.finding} it is tested elsewhere")
    assert "is confirmed: the check fails" in await scene.say(scene.carol, words.replace("F-ID", scene.finding))
    assert scene.conclusion == "failure"
    await story.after(scene.alice.push(scene.repository, "work", {"shop.py": FILES["shop.py"] + "\n\nTAX = 0\n"}))
    assert scene.conclusion == "failure"
    assert "carol said that it is right: they still matter" in (scene.check.summary or "")
    await story.after(scene.alice.push(scene.repository, "work", {"tests/test_north.py": FILES["tests/test_north.py"]}))
    assert scene.conclusion == "neutral"
    story.pass_over(scene.pull)


async def test_what_was_approved_stays_approved_where_a_part_of_it_is_disputed(story: Story) -> None:
    scene = await _begin(story, skip("north", "south"))
    first, second = sorted(set(re.findall(r"F-[A-Z2-7]{6}", scene.check.summary or "")))
    [question] = story.questions(scene.pull)
    assert "your words are kept with the decision" in question.body
    said = await scene.say(scene.carol, "/forge approve destructive with: they are tested elsewhere")
    assert "Your words are kept with the decision." in said
    assert (scene.conclusion, scene.gates) == ("success", [])
    await scene.say(scene.alice, f"/forge dismiss {second} it is tested elsewhere")
    assert "destructive" not in scene.gates  # nobody is asked about the first one again
    await scene.say(scene.bob, f"/forge dismiss {second} she is right")
    assert (scene.conclusion, scene.gates) == ("success", [])
    assert first in (scene.check.summary or "")
    story.pass_over(scene.pull)


async def test_a_word_that_was_taken_back_leaves_no_red_gate(story: Story) -> None:
    scene = await _begin(story)
    name = scene.finding
    await scene.say(scene.alice, f"/forge dismiss {name} it is tested elsewhere")
    await scene.say(scene.carol, f"/forge confirm {name} they still matter")
    [gate] = story.github.check_runs(scene.repository, scene.pull.head_sha, "Forge / gate: false_positive")
    assert gate.conclusion == "failure"
    await scene.say(scene.carol, f"/forge undismiss {name}")
    await scene.say(scene.carol, f"/forge dismiss {name} they are tested elsewhere")
    assert scene.conclusion == "neutral"
    gate = story.github.check_runs(scene.repository, scene.pull.head_sha, "Forge / gate: false_positive")[0]
    assert gate.conclusion == "cancelled"
    assert "the answer was taken back" in (gate.summary or "")
    story.pass_over(scene.pull)


async def test_a_word_that_was_taken_back_leaves_none_where_nothing_else_is_asked(story: Story) -> None:
    """Something else blocks, so nothing goes on after it, and what is shown of the gate has to change at once."""
    scene = await _begin(story, {**skip("north"), "shop.py": "def total(prices):\n    return missing\n"})
    [name] = story.finding_names(scene.pull, "avoidance/")
    await scene.say(scene.alice, f"/forge dismiss {name} it is tested elsewhere")
    await scene.say(scene.carol, f"/forge confirm {name} they still matter")
    [gate] = story.github.check_runs(scene.repository, scene.pull.head_sha, "Forge / gate: false_positive")
    assert gate.conclusion == "failure"
    await scene.say(scene.carol, f"/forge undismiss {name}")
    assert (scene.conclusion, scene.gates) == ("failure", [])
    [gate] = story.github.check_runs(scene.repository, scene.pull.head_sha, "Forge / gate: false_positive")
    assert gate.conclusion == "cancelled"
    assert "the answer was taken back" in (gate.summary or "")
    story.pass_over(scene.pull)


async def test_a_doubt_asks_again_once_its_answer_was_taken_back(story: Story) -> None:
    scenes = [await _begin(story)]
    await scenes[0].say(scenes[0].bob, f"/forge dismiss {scenes[0].finding} it moved")
    for region in ("south", "west"):
        scenes.append(await scenes[0].propose(region, skip(region)))
        if region == "south":
            await scenes[1].say(scenes[1].bob, f"/forge dismiss {scenes[1].finding} it moved")
    third = scenes[2]
    await third.say(third.bob, f"/forge confirm {third.finding} this one matters")
    assert third.conclusion == "failure"
    await third.say(third.bob, f"/forge undismiss {third.finding}")
    assert (third.conclusion, third.gates) == ("action_required", ["false_positive"])
    for each in scenes:
        story.pass_over(each.pull)


async def test_what_was_approved_is_not_asked_again_by_its_author(story: Story) -> None:
    scene = await _begin(story)
    name = scene.finding
    await scene.say(scene.carol, "/forge approve destructive with: north is gone")
    said = await scene.say(scene.alice, f"/forge dismiss {name} it is tested elsewhere")
    assert "`destructive` was approved with" in said
    assert (scene.conclusion, scene.gates) == ("success", [])
    assert not story.github.check_runs(scene.repository, scene.pull.head_sha, "Forge / gate: false_positive")
    story.pass_over(scene.pull)


async def test_silence_decides_nothing(story: Story) -> None:
    scene = await _begin(story)
    await scene.say(scene.alice, f"/forge dismiss {scene.finding} it is tested elsewhere")
    await story.wait(hours=25)
    assert scene.conclusion == "action_required"
    story.pass_over(scene.pull)


async def test_a_scope_lets_pass_what_it_names_for_ninety_days(story: Story) -> None:
    scene = await _begin(
        story, {"tests/test_north.py": f"import pytest\n\n\n@pytest.mark.skip\n{TESTS['tests/test_north.py']}"}
    )
    name = scene.finding
    said = await scene.say(scene.bob, f"/forge dismiss {name} repository: no winter, no north")
    assert "needs the role maintain" in said
    said = await scene.say(scene.bob, f"/forge dismiss {name} file: no winter, no north")
    assert "pass for 90 days" in said
    assert scene.conclusion == "neutral"
    again = {"tests/test_north.py": f"import pytest\n\n\n@pytest.mark.skip('later')\n{TESTS['tests/test_north.py']}"}
    passed = await scene.propose("again", again)
    assert (passed.conclusion, passed.gates) == ("neutral", [])
    assert "bob let such findings in this file pass until" in (passed.check.summary or "")
    elsewhere = {"tests/test_south.py": f"import pytest\n\n\n@pytest.mark.skip\n{TESTS['tests/test_south.py']}"}
    assert (await scene.propose("elsewhere", elsewhere)).conclusion == "action_required"
    story.clock.move(hours=24 * 91)
    later = {"tests/test_north.py": f"import pytest\n\n\n@pytest.mark.skip('for ever')\n{TESTS['tests/test_north.py']}"}
    asked = await scene.propose("later", later)
    assert asked.conclusion == "action_required"
    assert "which no longer holds: its time is over" in (asked.check.summary or "")
    story.pass_over(scene.pull)


async def test_what_passes_in_a_file_ends_with_it(story: Story) -> None:
    skipped = {"tests/test_north.py": f"import pytest\n\n\n@pytest.mark.skip\n{TESTS['tests/test_north.py']}"}
    scene = await _begin(story, skipped)
    await scene.say(scene.carol, f"/forge dismiss {scene.finding} file: no winter, no north")
    await story.after(scene.carol.merge(scene.pull))
    await story.after(scene.alice.push(scene.repository, "main", {"tests/test_north.py": None}))
    await scene.propose("other", {"shop.py": FILES["shop.py"] + "\n\nTAX = 0\n"})
    [said] = await feedback.list_with_scope(story.forge.services.database, scene.repository.id)
    assert said.find_lapse(story.clock.now()) == "time"
    story.pass_over(scene.pull)


async def test_who_decides_sees_the_places_their_past_and_what_else_could_be_done(story: Story) -> None:
    scene = await _begin(story)
    name = scene.finding
    said = await scene.say(scene.bob, "/forge diff destructive")
    assert "+@pytest.mark.skip" in said
    assert "+@pytest.mark.skip" in await scene.say(scene.bob, f"/forge diff {name}")
    assert "fix what makes the test fail" in await scene.say(scene.bob, "/forge suggest")
    said = await scene.say(scene.bob, f"/forge history {name}")
    assert "found 1 place in this repository" in said
    await scene.say(scene.bob, f"/forge dismiss {name} it moved")
    said = await scene.say(scene.bob, f"/forge history {name}")
    assert "bob said that it is wrong: it moved" in said
    assert "There is no finding" in await scene.say(scene.bob, "/forge history F-AAAAAA")
    story.pass_over(scene.pull)


async def test_other_findings_are_dismissed_alone_and_count_anyway(story: Story) -> None:
    scene = await _begin(story, {"shop.py": "import os\n\n\ndef total(prices):\n    return sum(prices)\n"})
    [name] = story.finding_names(scene.pull)
    assert "can be dismissed alone" in await scene.say(scene.bob, f"/forge dismiss {name} file: generated")
    assert "counts as it is" in await scene.say(scene.bob, f"/forge confirm {name} it is wrong")
    assert "is not for the author" in await scene.say(scene.alice, f"/forge dismiss {name} it is used")
    story.pass_over(scene.pull)


async def test_a_detector_that_was_often_wrong_here_asks_whether_it_is(story: Story) -> None:
    """Twice in a row it was wrong; the third time it does not claim, but asks; who confirms it makes it believed."""
    scene = await _begin(story)
    await scene.say(scene.bob, f"/forge dismiss {scene.finding} it moved")
    second = await scene.propose("second", skip("south"))
    assert second.gates == ["destructive"]
    await second.say(scene.bob, f"/forge dismiss {second.finding} it moved")
    third = await scene.propose("third", skip("west"))
    assert third.gates == ["false_positive"]
    [question] = story.questions(third.pull)
    assert "of a detector that was often wrong here" in question.body
    assert "is confirmed" in await third.say(scene.bob, f"/forge confirm {third.finding} this one matters")
    assert third.conclusion == "failure"
    fourth = await scene.propose("fourth", skip("east"))
    assert fourth.gates == ["destructive"]
    for each in (scene, second, third, fourth):
        story.pass_over(each.pull)


async def test_what_people_decided_is_counted(story: Story) -> None:
    first = await _begin(story)
    await first.say(first.carol, "/forge approve destructive with: north is gone for good")
    second = await first.propose("second", skip("south"))
    await second.say(second.bob, f"/forge confirm {second.finding} south is still there")
    await story.after(
        second.alice.push(
            second.repository, "second", {"tests/test_south.py": TESTS["tests/test_south.py"], "a.txt": "a"}
        )
    )
    third = await first.propose("third", skip("west"))
    await third.say(third.carol, f"/forge dismiss {third.finding} repository: we leave the west")
    services = story.forge.services
    weekly = {each.metric.name: each.now for each in await load_weekly(services.database, story.clock.now(), 1)}
    wanted = {"avoidance_false_alarms": 1 / 3, "avoidance_precision": 0.5, "let_pass": 1.0}
    wanted |= {"destructive_approved": 1.0, "alternatives_found": 1.0}
    assert {name: weekly[name] for name in wanted} == pytest.approx(wanted)
    for each in (first, second, third):
        story.pass_over(each.pull)


async def test_the_author_lifts_nothing_that_was_said_against_the_change(story: Story) -> None:
    scene = await _begin(story)
    name = scene.finding
    await scene.say(scene.carol, f"/forge confirm {name} it matters")
    assert scene.conclusion == "failure"
    assert "Refused" in await scene.say(scene.alice, f"/forge undismiss {name}")
    assert "Refused" in await scene.say(scene.alice, f"/forge dismiss {name} no")
    assert "Refused" in await scene.say(scene.bob, f"/forge dismiss {name} no")
    assert scene.conclusion == "failure"
    assert "counts again" in await scene.say(scene.carol, f"/forge undismiss {name}")
    assert (scene.conclusion, scene.gates) == ("action_required", ["destructive"])
    story.pass_over(scene.pull)


async def test_who_pushed_before_a_puppet_opened_it_judges_nothing(story: Story) -> None:
    repository, alice = story.repository(FILES)
    bob, carol, rex = (story.github.user(name) for name in ("bob", "carol", "rex"))
    for who in (alice, carol):
        story.github.grant(repository, who, "maintain")
    story.github.grant(repository, bob, "write")
    story.github.grant(repository, rex, "read")
    await alice.push(repository, "work", skip("north"), base="main")
    pull = await story.after(rex.open_pull_request(repository, "work", "main", title="Tidy up"))
    scene = Scene(story, repository, alice, bob, carol, pull)
    name = scene.finding
    assert "author of the change" in await scene.say(alice, f"/forge confirm {name} no")
    assert "You cannot decide it yourself" in await scene.say(alice, f"/forge dismiss {name} fine")
    assert (scene.conclusion, scene.gates) == ("action_required", ["false_positive"])
    assert "is dismissed" in await scene.say(bob, f"/forge dismiss {name} it moved elsewhere")
    assert scene.conclusion == "success"
    story.pass_over(pull)


async def test_what_is_judged_in_one_pull_request_counts_in_no_other(story: Story) -> None:
    """A puppet proposes the same first, so that its author may judge it there."""
    scene = await _begin(story)
    puppet, _ = await story.propose(scene.repository, scene.bob, skip("east"), "puppet", title="Tidy up")
    other = Scene(story, scene.repository, scene.alice, scene.bob, scene.carol, puppet)
    assert "is dismissed" in await other.say(scene.alice, f"/forge dismiss {other.finding} fine")
    mine = await scene.propose("mine", skip("east"))
    assert mine.gates == ["destructive"]
    for each in (scene, other, mine):
        story.pass_over(each.pull)
