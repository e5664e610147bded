"""The implementer works on a draft with real tools: told what is wrong, it corrects it; a crash loses nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from agents.coding.implementer import ImplementationTask, OnDraft, build_content, load_instructions
from agents.llm.scripted import Reply, ScriptedModel, Uses
from agents.loop.loop import Agent, Done, Use, run_agent
from agents.loop.tools.edits import make_edit_tools
from agents.loop.tools.files import make_file_tools
from agents.loop.tools.tool import Result, Tool, call_tool
from agents.loop.turns import Assignment, CompletedTurn, Turn, take_turn
from domain.runs.patches import Worked, find_mistakes
from tests.purses import OpenPurse
from tests.unit.implementing.drafts import AREAS, EDIT, begin_draft
from tests.unit.patches.building import hunk, new_file
from tests.unit.planning.plans import plan
from tests.unit.workspace.remotes import Author
from workspace.draft import Draft
from workspace.mirror import Mirror

STALE = hunk("src/cart.py", "@@ -1,2 +1,3 @@\n items = ()\n+count = len(items)\n total = 0\n").decode()
TEST = new_file("tests/test_cart.py", "assert True\n").decode()
FORBIDDEN = new_file("src/legacy/x.py").decode() + new_file("setup/x.py").decode()
WORKED: Mapping[str, JsonValue] = {
    "summary": "The cart counts.",
    "is_done": True,
    "tests_added": ["tests/test_cart.py"],
}


def tools(draft: Draft) -> tuple[Tool, ...]:
    return (*make_file_tools(draft.snapshot, never_send=()), *make_edit_tools(draft))


async def call(draft: Draft, name: str, **arguments: object) -> Result:
    return await call_tool(tools(draft), name, arguments)


@dataclass
class Journaled:
    """Takes the steps of a loop, and those it knows not again, as after a crash.

    :param lost: the numbers of steps whose results are not written down when they are first taken.
    :param before: what was done before the first step.
    """

    draft: Draft
    model: ScriptedModel
    known: list[CompletedTurn] = field(default_factory=list[CompletedTurn])
    lost: set[int] = field(default_factory=set[int])
    purse: OpenPurse = field(default_factory=OpenPurse)
    before: Sequence[CompletedTurn] = ()

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        return self.before

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        if len(past) < len(self.known):
            return self.known[len(past)].turn
        asked = ImplementationTask(plan=plan(), task="T1")
        given = Assignment(key="T1", instructions=load_instructions(), content=build_content(asked))
        return await take_turn(given, past, Worked, tools(self.draft), self.model.language_model, self.purse)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        if len(past) < len(self.known):
            return self.known[len(past)]
        if len(past) in self.lost:
            self.lost.remove(len(past))
            await use()
        self.known.append(CompletedTurn(turn=turn, results=tuple(await use())))
        return self.known[-1]


async def carry_out(journaled: Journaled) -> Worked:
    agent = Agent(Worked, tools(journaled.draft), find_mistakes)
    ended = await run_agent(agent, OnDraft(journaled, journaled.draft))
    assert isinstance(ended, Done)
    return ended.value


def script() -> ScriptedModel:
    return ScriptedModel().when(
        "your task: T1",
        Uses([("read_file", {"path": "src/cart.py"})]),
        Uses([("apply_patch", {"diff": STALE})]),
        Uses([("apply_patch", {"diff": EDIT}), ("apply_patch", {"diff": TEST}), ("grep", {"pattern": "count"})]),
        {**WORKED, "is_done": False},
        WORKED,
    )


async def test_a_refused_patch_is_corrected_and_the_work_handed_in(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    model = script()
    worked = await carry_out(Journaled(draft, model))
    assert worked == Worked.model_validate(WORKED)
    assert [file.path for file in (await draft.change()).files] == ["src/cart.py", "tests/test_cart.py"]
    seen = [each.content for each in model.calls]
    assert "Nothing was applied.\n- src/cart.py (base): The hunk at line 3 of the diff does not fit" in seen[2]
    assert "Applied.\n- src/cart.py: changed, 1 line\nApplied.\n- tests/test_cart.py: new, 1 line\n" in seen[3]
    assert "src/cart.py:2:count = len(items)" in seen[3]
    assert "not_done does not say" in seen[4]


async def test_another_process_goes_on_with_the_same_draft(mirror: Mirror, author: Author) -> None:
    first = Journaled(await begin_draft(mirror, author), script())
    await carry_out(first)
    for steps in range(len(first.known) + 1):
        other = Draft(mirror, first.draft.base, AREAS)
        rest = ScriptedModel().when("your task: T1", *_rest_of(steps))
        assert await carry_out(Journaled(other, rest, first.known[:steps])) == Worked.model_validate(WORKED)
        assert other.head == first.draft.head
        again = Draft(mirror, first.draft.base, AREAS)
        rest = ScriptedModel().when("your task: T1", *_rest_of(steps))
        assert await carry_out(Journaled(again, rest, before=first.known[:steps])) == Worked.model_validate(WORKED)
        assert again.head == first.draft.head


def _rest_of(steps: int) -> Sequence[Reply]:
    patches = Uses([("apply_patch", {"diff": EDIT}), ("apply_patch", {"diff": TEST})])
    return [Uses([("apply_patch", {"diff": STALE})]), patches, WORKED][max(0, steps - 1) :] or [WORKED]


async def test_a_step_that_was_taken_but_not_written_down_is_taken_back(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    journaled = Journaled(draft, script(), lost={2})
    await carry_out(journaled)
    assert not any(result.is_error for result in journaled.known[2].results)
    assert len((await draft.change()).files) == 2


REMOVED: Mapping[str, str] = {"path": "src/cart.py", "old": "total = 0\n", "new": ""}
WRITTEN: Mapping[str, str] = {"path": "tests/test_cart.py", "content": "assert True\n"}


async def test_edits_are_applied_in_their_order_and_found_again(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    uses = Uses([("edit", REMOVED), ("apply_patch", {"diff": TEST}), ("write_file", {**WRITTEN, "content": "x = 1\n"})])
    journaled = Journaled(draft, ScriptedModel().when("your task: T1", uses, WORKED))
    await carry_out(journaled)
    assert [result.text.split("\n")[0] for result in journaled.known[0].results] == ["Applied."] * 3
    other = Draft(mirror, draft.base, AREAS)
    rest = ScriptedModel().when("your task: T1", WORKED)
    await carry_out(Journaled(other, rest, journaled.known[:1]))
    assert other.head == draft.head
    files = {file.path: file.after for file in (await other.change()).files}
    assert files == {"src/cart.py": b"items = []\n", "tests/test_cart.py": b"x = 1\n"}


async def test_after_a_refused_edit_only_reading_goes_on(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    refused = ("edit", {**REMOVED, "old": "total = 5\n"})
    uses = Uses([refused, ("read_file", {"path": "src/cart.py"}), ("write_file", WRITTEN), ("report", WORKED)])
    model = ScriptedModel().when("your task: T1", uses, Uses([("edit", REMOVED), ("report", WORKED)]))
    journaled = Journaled(draft, model)
    await carry_out(journaled)
    first, read, written, reported = journaled.known[0].results
    assert (first.is_error, read.is_error, written.is_error, reported.is_error) == (True, False, True, True)
    assert "The passage is not in the file." in first.text
    assert written.text.startswith(
        "write_file was not called, because an edit before it in the same message was refused"
    )
    assert [file.path for file in (await draft.change()).files] == ["src/cart.py"]


# --- the tool by itself ------------------------------------------------------------------------------------


async def test_reading_sees_what_was_applied(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    assert "count" not in (await call(draft, "read_file", path="src/cart.py")).text
    assert (await call(draft, "apply_patch", diff=EDIT + TEST)).text.startswith("Applied.")
    assert "2\tcount = len(items)" in (await call(draft, "read_file", path="src/cart.py")).text
    assert "tests/test_cart.py" in (await call(draft, "glob", pattern="**")).text
    assert "src/cart.py:2:" in (await call(draft, "grep", pattern="len.items")).text


async def test_every_violation_is_told_with_what_to_do(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    outcome = await call(draft, "apply_patch", diff=EDIT + FORBIDDEN)
    assert outcome.is_error
    assert outcome.text == (
        "Nothing was applied.\n"
        "- src/legacy/x.py (forbidden_areas): The plan forbids changes in src/legacy/**."
        " Leave the file alone; if the task needs it, end it and say so.\n"
        "- setup/x.py (allowed_areas): The plan allows changes in src/**, tests only."
        " Leave the file alone, or end the task and say why the plan has to allow it."
    )
    assert draft.head == draft.base


async def test_warnings_are_told_although_it_is_applied(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    outcome = await call(draft, "apply_patch", diff=new_file("src/run", mode="100755").decode())
    assert not outcome.is_error
    assert outcome.text.startswith("Applied.\n- src/run: new, 1 line\nWarnings:\n- src/run (mode): It is new and exec")


async def test_many_violations_are_counted(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    diff = "".join(new_file(f"out/{number}").decode() for number in range(60))
    outcome = await call(draft, "apply_patch", diff=diff)
    assert outcome.text.count("(allowed_areas)") == 40
    assert outcome.text.endswith("[20 more violations]")


async def test_what_is_said_holds_no_secret(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for diff in (new_file(f"src/{token}"), new_file(f"out/{token}")):
        text = (await call(draft, "apply_patch", diff=diff.decode())).text
        assert "[redacted" in text
        assert token not in text


async def test_arguments_that_are_no_diff_are_refused(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    for arguments in (
        {},
        {"diff": ""},
        {"diff": "\ud800"},
        {"diff": 5},
        {"diff": EDIT, "path": "x"},
        {"diff": "x" * 2_000_001},
    ):
        assert (await call(draft, "apply_patch", **arguments)).is_error
    assert draft.head == draft.base
