"""Pull requests at which Forge asks people, and what they then see."""

from collections.abc import Mapping
from dataclasses import dataclass

from domain.events import EventType
from domain.gates import Gate
from memory import gates, ledger
from memory.db.tables.runs import RunRow
from simulator import User
from simulator.gitstore import FileContent
from simulator.state import CheckRun, PullRequest, Repository, Role
from tests.stories.driver import Story

CI = ".github/workflows/ci.yml"
WORKFLOW = (
    "name: ci\non: push\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: make\n"
)
CHANGED: dict[str, str] = {CI: WORKFLOW.replace("make", "make test")}
VOID = "Void: there is nothing left to decide"


@dataclass(eq=False)
class GateScene:
    """A pull request of alice, who may write; carol maintains.

    :param head: the newest head that was looked at.
    """

    told: Story
    repository: Repository
    alice: User
    carol: User
    pull: PullRequest
    head: str

    def gate(self, name: str, sha: str | None = None) -> CheckRun:
        """The newest check of a gate on a head."""
        found = self.told.github.check_runs(self.repository, sha or self.head, f"Forge / gate: {name}")
        assert found, f"nobody was asked {name}"
        return max(found, key=lambda check: check.id)

    @property
    def conclusion(self) -> str | None:
        """The conclusion of the review's check."""
        return self.told.check(self.repository, self.head).conclusion

    @property
    def summary(self) -> str:
        """The summary of the review's check."""
        return self.told.check(self.repository, self.head).summary or ""

    async def comment(self, who: User, words: str) -> str:
        """Somebody comments; what Forge answers, and what is decided by it; or nothing."""
        before, decided = {each.id for each in self.told.answers(self.pull)}, self.told.decisions(self.pull)
        self.told.clock.move(seconds=2)  # GitHub cuts the moment of writing to the second
        await self.told.after(who.comment(self.pull, words))
        said = [each.body for each in self.told.answers(self.pull) if each.id not in before]
        return "\n".join([*said, *(text for text in self.told.decisions(self.pull) if text not in decided)])

    async def press(self, who: User, button: str, name: str) -> None:
        """Somebody presses a button of a gate's check."""
        await self.told.after(who.press(self.gate(name), button))

    async def push(self, files: dict[str, str]) -> None:
        """Alice pushes a new head, which is looked at."""
        self.head = await self.alice.push(self.repository, "feature", files)
        await self.told.settle()

    def add_user(self, login: str, role: Role | None = None) -> User:
        """Another account, perhaps with a role."""
        user = self.told.github.user(login)
        if role is not None:
            self.told.github.grant(self.repository, user, role)
        return user

    async def run(self) -> RunRow:
        """The newest run."""
        return (await self.told.runs())[0]

    async def list_gates(self) -> list[Gate]:
        """Every gate of this pull request."""
        database = self.told.forge.services.database
        return list(await gates.list_for_pull_request(database, self.repository.id, self.pull.number))

    async def events(self, kind: EventType) -> list[dict[str, object]]:
        """What the ledger has of a kind, of all runs."""
        found = [await ledger.load_events(self.told.forge.services.database, run.id) for run in await self.told.runs()]
        return [event.payload for events in found for event in events if event.type is kind]


async def open_scene(
    story: Story,
    changed: Mapping[str, FileContent] = CHANGED,
    configuration: str = "",
    there: dict[str, str] | None = None,
) -> GateScene:
    """Alice opened a pull request, and it was looked at.

    :param configuration: of the repository.
    :param there: what the repository has besides.
    """
    configured = {".github/forge.yml": configuration} if configuration else {}
    repository, alice = story.repository({"README.md": "# Shop\n", CI: WORKFLOW, **configured, **(there or {})})
    carol = story.member(repository, "carol", "maintain")
    pull, head = await story.propose(repository, alice, changed)
    return GateScene(story, repository, alice, carol, pull, head)
