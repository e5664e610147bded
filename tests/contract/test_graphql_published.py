"""GraphQL is asked and answered as GitHub publishes it: the simulated GitHub refuses what GitHub would."""

import httpx2
import pytest

from tests.contract.published_graphql import find_differences, find_mistakes
from tests.contract.stage import Stage

_VIEWER = "query { viewer { login databaseId } }"


@pytest.mark.parametrize(
    ("query", "variables", "told"),
    [
        ("query { viewer { login ", {}, "Expected Name"),
        ("query { viewer { nickname } }", {}, "Cannot query field 'nickname' on type 'User'"),
        ("query { viewer }", {}, "must have a selection of subfields"),
        ('query { repository(owner: 1, name: "shelf") { id } }', {}, "String cannot represent a non string value"),
        (
            'query ($number: Int) { repository(owner: "a", name: "b") { pullRequest(number: $number) { id } } }',
            {},
            "Int",
        ),
        ("query ($id: ID!) { node(id: $id) { id } }", {}, "non-null type 'ID!'"),
        ("query ($id: ID!) { node(id: $id) { id } }", {"id": {}}, "ID cannot represent value"),
        ('mutation { addReaction(input: {subjectId: "a", content: CLAP}) { clientMutationId } }', {}, "CLAP"),
        ('query { node(id: "a") { id login } }', {}, "Did you mean to use an inline fragment on"),
    ],
)
def test_what_github_would_refuse_is_seen(query: str, variables: dict[str, object], told: str) -> None:
    assert told in " ".join(find_mistakes(query, variables))


def test_what_github_takes_is_taken() -> None:
    assert find_mistakes(_VIEWER, {}) == []
    assert find_mistakes("query ($id: ID!) { node(id: $id) { id } }", {"id": "PR_1"}) == []


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"viewer": {"login": "ann", "databaseId": 7}}, ""),
        ({"viewer": {"login": "ann", "databaseId": None}}, ""),
        ({"viewer": {"databaseId": 7}}, "viewer.login: Cannot return null"),
        ({"viewer": {"login": "ann", "databaseId": "seven"}}, "viewer.databaseId: Int cannot represent"),
        ({}, "viewer: Cannot return null"),
    ],
)
def test_an_answer_of_other_types_is_seen(data: dict[str, object], told: str) -> None:
    found = find_differences(_VIEWER, {}, data)
    assert told in " ".join(found)
    assert bool(found) == bool(told)


async def test_the_simulated_github_refuses_a_field_there_is_not(stage: Stage) -> None:
    headers = {"Authorization": f"token {stage.sim.token(stage.installation)}"}
    async with httpx2.AsyncClient(headers=headers) as github:
        answer = await github.post(f"{stage.sim.url}/api/graphql", json={"query": "{ viewer { login nickname } }"})
    assert answer.json() == {
        "errors": [{"message": "Cannot query field 'nickname' on type 'User'. Did you mean 'name'?"}]
    }
