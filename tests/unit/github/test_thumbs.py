"""Reactions to review comments as GitHub may answer them."""

import pytest

from domain.errors import Unavailable
from domain.github.conversation import Thumb
from tests.unit.github.kit import REPO, Kit

COMMENTS = "/repos/acme/app/pulls/4/comments"
GIVEN = "/repos/acme/app/pulls/comments/11/reactions"
ANN = {"id": 5, "login": "ann", "type": "User"}


def _mock_reactions(kit: Kit, *reactions: dict[str, int] | None) -> None:
    shown = [
        {"id": number, "user": ANN, **({} if each is None else {"reactions": each})}
        for number, each in enumerate(reactions, start=11)
    ]
    kit.github.get(COMMENTS).respond(json=shown)


async def test_who_gave_them_is_asked_only_where_there_are_any(kit: Kit) -> None:
    none = {"total_count": 1, "+1": 0, "-1": 0, "eyes": 1}
    _mock_reactions(kit, {"total_count": 3, "+1": 0, "-1": 1}, none, None, {"total_count": 1, "+1": 1, "-1": 0})
    app = {"id": 6, "login": "helper[bot]", "type": "Bot"}
    given = [(ANN, "-1"), (app, "+1"), (None, "-1"), (ANN, "eyes"), (ANN, "new")]
    kit.github.get(GIVEN).respond(json=[{"id": 1, "user": user, "content": content} for user, content in given])
    found = await kit.host.thumbs(REPO, 4, {11, 12, 13})
    assert [(each.account_id, each.thumb, each.is_person) for each in found] == [
        (5, Thumb.down, True),
        (6, Thumb.up, False),
    ]


@pytest.mark.parametrize("given", [{"user": ANN}, {"user": {"login": "ann"}, "content": "+1"}])
async def test_reactions_of_another_shape_are_an_error(kit: Kit, given: dict[str, object]) -> None:
    _mock_reactions(kit, {"+1": 1, "-1": 0})
    kit.github.get(GIVEN).respond(json=[given])
    with pytest.raises(Unavailable):
        await kit.host.thumbs(REPO, 4, {11})
