"""What a Forge was taught before a story."""

from datetime import UTC, datetime

from domain.memories import Memory, MemoryKind, Origin
from domain.runs.run import RepositoryRef
from simulator.state import Repository
from tests.stories.driver import Story
from tests.unit.memories.records import keep

MEMORY_ID = "01JTHEMEMORYOFDIVISIONM7QX"


async def teach(story: Story, repository: Repository, content: str = "Totals of nothing are 0: say so.") -> Memory:
    """Keep a memory about the code that divides by zero, as if a person had said it in octo-org/shop."""
    where = RepositoryRef(installation_id=1, id=repository.id, owner="octo-org", name="shop")
    now = datetime.now(UTC)
    taught = Memory(
        id=MEMORY_ID,
        installation_id=where.installation_id,
        repository_id=where.id,
        kind=MemoryKind.semantic,
        content=content,
        context="billing",
        tags=("billing/pay.py",),
        confidence=0.7,
        origin=Origin.person,
        source="a test",
        created_at=now,
        used_at=now,
    )
    await keep(story.forge.services.database, taught)
    return taught
