"""Pull requests, files, dependencies and permissions as GitHub shows them (T-P11, T-G5, T-F4)."""

import base64

import httpx
import pytest

from domain.errors import CodeHostError, Forbidden, NotFound, Unavailable
from tests.unit.github.kit import BASE, HEAD, REPO, Kit, in_turn, pull

PULL = "/repos/acme/app/pulls/1"
BY_COMMIT = f"/repos/acme/app/commits/{HEAD}/pulls"
LIST = "/repos/acme/app/pulls"
FILE = "/repos/acme/app/contents/.github/forge.yml"
COMPARE = f"/repos/acme/app/dependency-graph/compare/{BASE}...{HEAD}"
ROLE = "/repos/acme/app/collaborators/ann/permission"


async def test_a_deleted_fork_and_a_deleted_author_are_no_surprise(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull(user=None, head={"sha": HEAD, "ref": "topic", "repo": None}))
    shown = await kit.host.pull_request(REPO, 1)
    assert (shown.author_login, shown.author_is_bot, shown.head_repository_id) == ("ghost", False, None)
    assert shown.is_from_fork(REPO.id)


async def test_a_bot_is_known_by_its_type(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull(user={"id": 1, "login": "renovate", "type": "Bot"}))
    assert (await kit.host.pull_request(REPO, 1)).author_is_bot


@pytest.mark.parametrize("broken", [[], {}, "text", {**pull(), "head": None}, {**pull(), "number": "one"}])
async def test_a_surprising_shape_is_unavailable(kit: Kit, broken: object) -> None:
    kit.github.get(PULL).respond(json=broken)
    with pytest.raises(Unavailable, match="something unexpected"):
        await kit.host.pull_request(REPO, 1)


async def test_open_pulls_of_a_head_come_from_its_commit(kit: Kit) -> None:
    listed = [
        pull(1),
        pull(2, state="closed"),
        pull(3, head={"sha": "c" * 40, "ref": "later", "repo": {"id": 99}}),
    ]
    kit.github.get(path=BY_COMMIT).respond(json=listed)
    kit.github.get(PULL).respond(json=pull())
    assert [one.number for one in await kit.host.open_pull_requests(REPO, HEAD)] == [1]


@pytest.mark.parametrize(
    "answer", [httpx.Response(200, json=[]), httpx.Response(422, json={"message": "No commit found"})]
)
async def test_a_forks_pull_is_found_among_all_open_ones(kit: Kit, answer: httpx.Response) -> None:
    fork = pull(1, head={"sha": HEAD, "ref": "topic", "repo": {"id": 7}})
    other = pull(2, head={"sha": "c" * 40, "ref": "x", "repo": None})
    kit.github.get(path=BY_COMMIT).mock(return_value=answer)
    scan = kit.github.get(path=LIST).respond(json=[other, fork])
    kit.github.get(PULL).respond(json=fork)
    assert [one.number for one in await kit.host.open_pull_requests(REPO, HEAD)] == [1]
    assert kit.list_requests(scan)[0].url.params["state"] == "open"


async def test_a_pull_that_moved_on_meanwhile_does_not_count(kit: Kit) -> None:
    kit.github.get(path=BY_COMMIT).respond(json=[pull(1)])
    kit.github.get(PULL).respond(json=pull(1, head={"sha": "d" * 40, "ref": "topic", "repo": {"id": 99}}))
    assert await kit.host.open_pull_requests(REPO, HEAD) == []


def _file(decoded: bytes, **changes: object) -> dict[str, object]:
    encoded = base64.encodebytes(decoded).decode()
    return {"type": "file", "sha": "f" * 40, "size": len(decoded), "encoding": "base64", "content": encoded, **changes}


async def test_a_file_is_read_at_a_ref(kit: Kit) -> None:
    route = kit.github.get(path=FILE).respond(json=_file(b"review: {}\n" * 100))
    assert await kit.host.file_content(REPO, ".github/forge.yml", "main") == b"review: {}\n" * 100
    assert kit.list_requests(route)[0].url.params["ref"] == "main"


async def test_a_large_file_is_read_as_a_blob(kit: Kit) -> None:
    kit.github.get(path=FILE).respond(json=_file(b"", size=3, encoding="none", content=""))
    blob = {"encoding": "base64", "content": base64.b64encode(b"abc").decode(), "size": 3}
    kit.github.get(f"/repos/acme/app/git/blobs/{'f' * 40}").respond(json=blob)
    assert await kit.host.file_content(REPO, ".github/forge.yml") == b"abc"


@pytest.mark.parametrize("answer", [[], {"type": "submodule", "sha": "f" * 40, "size": 0}, _file(b"", type="symlink")])
async def test_what_is_no_file_is_none(kit: Kit, answer: object) -> None:
    kit.github.get(path=FILE).respond(json=answer)
    assert await kit.host.file_content(REPO, ".github/forge.yml") is None


@pytest.mark.parametrize("wrong", [_file(b"abc", size=5), _file(b"abc", content="YW")])
async def test_a_shortened_file_is_unavailable(kit: Kit, wrong: object) -> None:
    kit.github.get(path=FILE).respond(json=wrong)
    with pytest.raises(Unavailable):
        await kit.host.file_content(REPO, ".github/forge.yml")


async def test_a_file_is_absent_only_if_its_repository_is_visible(kit: Kit) -> None:
    kit.github.get(path=FILE).respond(404, json={"message": "Not Found"})
    visible = kit.github.get("/repos/acme/app").respond(json={"id": 99})
    assert await kit.host.file_content(REPO, ".github/forge.yml") is None
    visible.respond(404, json={"message": "Not Found"})
    with pytest.raises(NotFound):
        await kit.host.file_content(REPO, ".github/forge.yml")
    visible.respond(json={"id": 100})
    with pytest.raises(NotFound, match="another repository now"):
        await kit.host.file_content(REPO, ".github/forge.yml")


async def test_a_ref_that_does_not_exist_is_not_an_absent_file(kit: Kit) -> None:
    kit.github.get(path=FILE).respond(404, json={"message": "No commit found for the ref gone"})
    with pytest.raises(NotFound, match="No commit found"):
        await kit.host.file_content(REPO, ".github/forge.yml", "gone")


@pytest.mark.parametrize("path", ["../../../user", "a/../../b", "/etc", "a//b", ""])
async def test_a_path_cannot_leave_the_repository(kit: Kit, path: str) -> None:
    with pytest.raises(ValueError, match="cannot be part of an address"):
        await kit.host.file_content(REPO, path)
    assert len(kit.github.calls) == 0


async def test_odd_names_are_escaped(kit: Kit) -> None:
    route = kit.github.route(method="GET").respond(json=_file(b"x"))
    await kit.host.file_content(REPO, "a?b/c#d/{e} %2e")
    assert kit.list_requests(route)[0].url.raw_path == b"/repos/acme/app/contents/a%3Fb/c%23d/%7Be%7D%20%252e"


async def test_dependency_changes_with_their_vulnerabilities(kit: Kit) -> None:
    vulnerability = {
        "severity": "high",
        "advisory_ghsa_id": "GHSA-1",
        "advisory_summary": "Bad",
        "advisory_url": "https://github.com/advisories/GHSA-1",
    }
    change = {
        "change_type": "added",
        "manifest": "requirements.txt",
        "ecosystem": "pip",
        "name": "thing",
        "version": "1.0",
        "license": None,
        "vulnerabilities": [vulnerability],
    }
    kit.github.get(path=COMPARE).respond(json=[change, {**change, "change_type": "removed", "vulnerabilities": []}])
    changes = await kit.host.dependency_changes(REPO, BASE, HEAD)
    assert changes is not None
    added, removed = changes
    assert (added.change_type, removed.change_type) == ("added", "removed")
    assert added.vulnerabilities[0].advisory_ghsa_id == "GHSA-1"


@pytest.mark.parametrize("status", [403, 404])
async def test_no_dependency_graph_is_none(kit: Kit, status: int) -> None:
    kit.github.get(path=COMPARE).respond(status, json={"message": "No"})
    kit.github.get("/repos/acme/app").respond(json={"id": 99})
    assert await kit.host.dependency_changes(REPO, BASE, HEAD) is None


async def test_a_suspended_installation_is_not_a_missing_dependency_graph(kit: Kit) -> None:
    suspended = {"message": "This installation has been suspended"}
    kit.github.get(path=COMPARE).respond(403, json=suspended)
    kit.github.get("/repos/acme/app").respond(403, json=suspended)
    with pytest.raises(Forbidden, match="suspended"):
        await kit.host.dependency_changes(REPO, BASE, HEAD)


def _permission(granted: dict[str, bool] | None, role: str = "x", legacy: str = "write", user_id: int = 5) -> object:
    return {"permission": legacy, "role_name": role, "user": {"id": user_id, "login": "ann", "permissions": granted}}


@pytest.mark.parametrize(
    ("answer", "role"),
    [
        (_permission({"admin": True, "maintain": True, "push": True, "triage": True, "pull": True}), "admin"),
        (_permission({"maintain": True, "push": True, "triage": True, "pull": True}), "maintain"),
        (_permission({"push": True, "triage": True, "pull": True}, role="Custom deployer"), "write"),
        (_permission({"triage": True, "pull": True}, legacy="read"), "triage"),
        (_permission({"pull": True}, legacy="read"), "read"),
        (_permission({}), "none"),
        (_permission(None, role="maintain"), "maintain"),
        (_permission(None, role="triage", legacy="read"), "triage"),
        (_permission(None, role="Custom", legacy="read"), "read"),
        (_permission({"admin": True}, legacy="none"), "none"),
        (_permission({"admin": True}, user_id=6), "none"),
        ({"permission": "admin", "role_name": "admin", "user": None}, "none"),
    ],
)
async def test_the_live_role_of_an_account(kit: Kit, answer: object, role: str) -> None:
    kit.github.get(ROLE).respond(json=answer)
    assert await kit.host.permission(REPO, "ann", 5) == role


async def test_an_unknown_login_has_no_permission(kit: Kit) -> None:
    kit.github.get(ROLE).respond(404, json={"message": "ann is not a user"})
    kit.github.get("/repos/acme/app").respond(json={"id": 99})
    assert await kit.host.permission(REPO, "ann", 5) == "none"


async def test_no_role_is_told_of_a_repository_that_is_gone(kit: Kit) -> None:
    kit.github.get(ROLE).respond(404, json={"message": "Not Found"})
    kit.github.get("/repos/acme/app").respond(404, json={"message": "Not Found"})
    with pytest.raises(NotFound, match="see the repository acme/app"):
        await kit.host.permission(REPO, "ann", 5)


@pytest.mark.parametrize(
    "fault",
    [httpx.Response(500), httpx.Response(403, json={}), httpx.ReadTimeout("slow"), httpx.Response(200, json={})],
)
async def test_a_permission_is_never_guessed(kit: Kit, fault: httpx.Response | Exception) -> None:
    kit.github.get(ROLE).mock(side_effect=in_turn(fault))
    with pytest.raises(CodeHostError):
        await kit.host.permission(REPO, "ann", 5)


PEOPLE = "/repos/acme/app/collaborators"


def _build_collaborator(
    account_id: int, role_name: str, granted: dict[str, bool] | None, kind: str = "User"
) -> dict[str, object]:
    person: dict[str, object] = {"id": account_id, "login": f"a{account_id}", "type": kind}
    person["role_name"] = role_name
    return person if granted is None else {**person, "permissions": granted}


async def test_the_accounts_with_a_role(kit: Kit) -> None:
    pushing = {"admin": False, "maintain": False, "push": True, "triage": True, "pull": True}
    listed = [
        _build_collaborator(1, "Custom deployer", pushing),
        _build_collaborator(2, "write", None),
        _build_collaborator(3, "Custom", None),
        _build_collaborator(4, "triage", {**pushing, "push": False}),
        _build_collaborator(5, "write", pushing, "Bot"),
        _build_collaborator(6, "admin", dict.fromkeys(pushing, True)),
    ]
    kit.github.get(path=PEOPLE).respond(json=listed)
    kit.github.get("/repos/acme/app").respond(json={"id": 99})
    assert await kit.host.accounts_with(REPO, "write") == {1, 2, 6}


async def test_the_accounts_of_another_repository_of_that_name_do_not_count(kit: Kit) -> None:
    kit.github.get(path=PEOPLE).respond(json=[_build_collaborator(1, "admin", None)])
    kit.github.get("/repos/acme/app").respond(json={"id": 100})
    with pytest.raises(NotFound, match="another repository now"):
        await kit.host.accounts_with(REPO, "write")
