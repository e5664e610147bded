"""The draft on which an implementer begins, and a patch that applies to it."""

from domain.runs.patches import Areas
from tests.unit.patches.building import hunk
from tests.unit.workspace.remotes import Author
from workspace.draft import Draft
from workspace.mirror import Mirror

AREAS = Areas(role="implementer", allowed=("src/**", "tests"), forbidden=("src/legacy/**",))
EDIT = hunk("src/cart.py", "@@ -1,2 +1,3 @@\n items = []\n+count = len(items)\n total = 0\n").decode()


async def begin_draft(mirror: Mirror, author: Author) -> Draft:
    """Commit one file and begin a draft on it."""
    base = author.commit({"src/cart.py": "items = []\ntotal = 0\n"})
    await mirror.fetch(base, base, 7)
    return Draft(mirror, base, AREAS)
