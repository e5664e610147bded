"""What is remembered is told to agents, and what becomes of that."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, EmbeddingSettings
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.usage import RequestUsage

from agents.llm.models import Embedding, Models
from agents.llm.scripted import ScriptedModel
from domain.events import EventType
from domain.money import FixedPrice
from memory import ledger, reservations
from memory.learned import memories
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.world.memories import teach
from tests.world.model_findings import PAY, claim, find_division
from tests.world.replies import first_lines


def _says(model: ScriptedModel, words: str) -> None:
    find_division(model)
    model.when("len(prices)", {"findings": [{**claim(), "message": words}]})


async def test_a_memory_leads_to_a_finding_that_names_it(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    taught = await teach(story, repository)
    _says(model, f"An empty list divides by zero; totals of nothing are 0 here ({taught.short_id}).")
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    [asked] = [call.content for call in model.calls if "== candidates" not in call.content]
    assert f"- {taught.short_id} [billing] Totals of nothing are 0: say so." in asked.split("BEGIN ")[0]
    [comment] = story.comments(pull)
    assert taught.short_id in comment.body
    found = await memories.find(story.forge.services.database, taught.id)
    assert found is not None
    assert found.confidence == 0.7  # that it was told, and named, makes it no surer

    [name] = re.findall(r"F-[A-Z2-7]{6}", comment.body)[:1]
    mended = PAY.replace("sum(prices) / len(prices)", "sum(prices) / len(prices) if prices else 0.0")
    model.when("if prices", {"findings": [], "earlier": [{"id": name, "gone": True}]})
    await story.after(alice.push(repository, "feature", {"billing/pay.py": mended}))
    found = await memories.find(story.forge.services.database, taught.id)
    events = [
        event for run in await story.runs() for event in await ledger.load_events(story.forge.services.database, run.id)
    ]
    taken = [event.payload for event in events if event.type is EventType.feedback_taken_up]
    assert [(each["path"], each["how"]) for each in taken] == [("billing/pay.py", "fixed")]
    assert found is not None
    assert found.confidence == 0.8


@pytest.mark.parametrize("teacher", ["author", "other", "both", "only one"])
async def test_what_an_author_taught_does_not_go_into_the_review_of_it(
    story: Story, model: ScriptedModel, teacher: str
) -> None:
    """Alice pushed it and bob opened it; what carol taught or said as well is told, and all where alice is alone."""
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol, bob = story.github.user("carol"), story.github.user("bob")
    story.github.grant(repository, bob, "read")
    if teacher != "only one":
        story.github.grant(repository, carol, "write")
    issue = await bob.open_issue(repository, "Totals", "They are 0.")
    for who in {"other": [carol], "both": [alice, carol]}.get(teacher, [alice]):
        await story.after(who.comment(issue, "/forge remember Totals of nothing are 0."))
    story.pass_over(issue)
    find_division(model)
    await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await story.after(bob.open_pull_request(repository, "feature", title="Add totals"))
    story.pass_over(pull)
    asked = next(call.content for call in model.calls if "total(prices" in call.content)
    assert ("Totals of nothing are 0." in asked) is (teacher != "author")


async def test_a_dismissed_finding_makes_its_memory_doubtful(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol = story.member(repository, "carol", "write")
    taught = await teach(story, repository)
    _says(model, f"Totals of nothing are 0 here ({taught.short_id}).")
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    [comment] = story.comments(pull)
    await story.after(carol.reply(comment, "/forge dismiss not any more"))
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["**F-OZQFDT** is dismissed: not any more. Forge does not raise it again here, no…"]
    )
    assert first_lines(story.questions(pull)) == snapshot(["**Forge asks: human_review** · G-ID · head `SHA`"])
    found = await memories.find(story.forge.services.database, taught.id)
    assert found is not None
    assert found.confidence == 0.5


async def test_nothing_is_told_where_memory_is_off_or_elsewhere(story: Story, model: ScriptedModel) -> None:
    off = {"README.md": "# Shop\n", "tests/t.py": "", ".github/forge.yml": "memory: {enabled: false}\n"}
    for name, files in (("octo-org/off", off), ("octo-org/other", {"README.md": "# Other\n", "tests/t.py": ""})):
        repository, alice = story.repository(files, name)
        if name.endswith("off"):
            await teach(story, repository)
        await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    assert len(model.calls) == 2
    assert all("M-" not in call.content and "Learned here" not in call.content for call in model.calls)


@pytest.mark.parametrize("shares", [True, False])
async def test_what_is_taught_reaches_repositories_that_share(story: Story, model: ScriptedModel, shares: bool) -> None:
    """Both have to say so: who taught, and who is told."""
    on, other = "memory: {organisation: true}\n", f"memory: {{organisation: {'true' if shares else 'false'}}}\n"
    home, alice = story.repository({"README.md": "# Home\n", ".github/forge.yml": on}, "octo-org/home")
    issue = await alice.open_issue(home, "Totals", "What about none?")
    await story.after(alice.comment(issue, "/forge remember billing totals of nothing are 0"))
    [receipt] = story.answers(issue)
    assert receipt.body.startswith("Learned: billing totals of nothing are 0")
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/t.py": "", ".github/forge.yml": other})
    await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add billing totals")
    [asked] = [call.content for call in model.calls]
    assert ("billing totals of nothing are 0" in asked) is shares


class _Meanings(EmbeddingModel):
    """Makes a vector of two: how much a text is about money, and how much about anything else."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    @property
    def model_name(self) -> str:
        return "meanings"

    @property
    def system(self) -> str:
        return "test"

    async def embed(
        self, inputs: str | Sequence[str], *, input_type: EmbedInputType, settings: EmbeddingSettings | None = None
    ) -> EmbeddingResult:
        texts, _ = self.prepare_embed(inputs, settings)
        self.asked.append((input_type, tuple(texts)))
        found = [[1.0, 0.1] if re.search("invoice|totals", text) else [0.1, 1.0] for text in texts]
        usage = RequestUsage(input_tokens=10)
        return EmbeddingResult(
            found, inputs=texts, input_type=input_type, model_name="meanings", provider_name="test", usage=usage
        )


async def test_meaning_finds_what_words_do_not(tmp_path: Path, model: ScriptedModel) -> None:
    """With a model that makes vectors, a memory without a word in common is told; its cost is in the books."""
    meanings = _Meanings()
    price = FixedPrice(input=Decimal(1), output=Decimal(1))
    embeds = Embedding("test:meanings", meanings, price)
    models = replace(Models.only(model.language_model), embeds=embeds)
    async with open_story(create_database("sqlite", tmp_path), tmp_path, models=models) as story:
        repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
        issue = await alice.open_issue(repository, "A", "B")
        for text in ("every invoice rounds half up", "deploys happen on Tuesdays"):
            await story.after(alice.comment(issue, f"/forge remember {text}"))
        assert first_lines(story.answers(issue)) == snapshot(
            [
                "Learned: every invoice rounds half up (M-ID). `/forge forget M-ID` undoes this.",
                "Learned: deploys happen on Tuesdays (M-ID). `/forge forget M-ID` undoes this.",
            ]
        )
        await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
        [asked] = [call.content for call in model.calls]
        assert asked.index("every invoice rounds half up") < asked.index("deploys happen on Tuesdays")
        assert [kind for kind, _ in meanings.asked] == ["document", "query"]
        [run] = await story.runs()
        [shared] = [
            each
            for each in await reservations.list_shares(story.forge.services.database, run_id=run.id)
            if each.phase == "reflection"
        ]
        assert (shared.model, shared.spent.calls, shared.spent.amount) == ("test:meanings", 2, 20)
