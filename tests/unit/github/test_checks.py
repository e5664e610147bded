"""Check runs: batches of annotations, bounds, and updates that repeat nothing (T-O4, T-G1)."""

import json
from typing import Any

import httpx
import pytest

from domain.errors import Unavailable, Unprocessable
from domain.github.checks import Annotation, Button, CheckRun
from domain.review.review import Conclusion
from tests.unit.github.kit import HEAD, REPO, Kit, check_run, in_turn

CREATE = "/repos/acme/app/check-runs"
UPDATE = "/repos/acme/app/check-runs/11"
ANNOTATIONS = "/repos/acme/app/check-runs/11/annotations"


def _check(**changes: object) -> CheckRun:
    plain: dict[str, object] = {
        "name": "Forge / review",
        "head_sha": HEAD,
        "external_id": "run-1",
        "status": "completed",
        "conclusion": Conclusion.success,
        "title": "Approved",
        "summary": "Nothing found",
    }
    return CheckRun.model_validate({**plain, **changes})


def _annotations(count: int) -> tuple[Annotation, ...]:
    return tuple(
        Annotation(path="a.py", start_line=n, end_line=n, level="warning", title=f"T{n}", message=f"M{n}")
        for n in range(1, count + 1)
    )


def _annotations_shown(annotations: tuple[Annotation, ...]) -> list[dict[str, object]]:
    return [{**one.model_dump(exclude={"level"}), "annotation_level": one.level} for one in annotations]


def _body(request: httpx.Request) -> dict[str, Any]:
    return json.loads(request.content)


def _titles(requests: list[httpx.Request]) -> list[str]:
    return [one["title"] for request in requests for one in _body(request)["output"].get("annotations", [])]


async def test_annotations_go_fifty_at_a_time(kit: Kit) -> None:
    create = kit.github.post(CREATE).respond(201, json=check_run())
    update = kit.github.patch(UPDATE).respond(json=check_run())
    ref = await kit.host.create_check_run(REPO, _check(annotations=_annotations(120)))
    requests = kit.list_requests(create) + kit.list_requests(update)
    assert ref.id == 11
    assert [len(_body(request)["output"]["annotations"]) for request in requests] == [50, 50, 20]
    assert _titles(requests) == [f"T{n}" for n in range(1, 121)]
    assert all(_body(request)["output"]["summary"] == "Nothing found" for request in requests)
    assert [("head_sha" in _body(request)) for request in requests] == [True, False, False]


async def test_a_repeat_after_a_crash_half_way_sends_only_what_is_missing(kit: Kit) -> None:
    wanted = _annotations(120)
    shown: list[dict[str, object]] = []
    updates = 0

    def record(request: httpx.Request) -> httpx.Response:
        nonlocal updates
        updates += request.method == "PATCH"
        if updates == 1:
            raise httpx.ReadError("killed")
        shown.extend(_body(request)["output"].get("annotations", []))
        return httpx.Response(200, json=check_run())

    def list_shown(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=shown)

    kit.github.post(CREATE).mock(side_effect=record)
    kit.github.patch(UPDATE).mock(side_effect=record)

    def count_shown(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"output": {"annotations_count": len(shown)}})

    kit.github.get(UPDATE).mock(side_effect=count_shown)
    kit.github.get(path=ANNOTATIONS).mock(side_effect=list_shown)
    with pytest.raises(Unavailable):
        await kit.host.create_check_run(REPO, _check(annotations=wanted))
    await kit.host.update_check_run(REPO, 11, _check(annotations=wanted))
    assert [one["title"] for one in shown] == [one.title for one in wanted]


async def test_equal_annotations_are_counted_and_white_space_of_github_ignored(kit: Kit) -> None:
    twin = Annotation(path="a.py", start_line=1, end_line=1, level="notice", title="T", message="two\nlines\n")
    kit.github.get(UPDATE).respond(json={"output": {"annotations_count": 1}})
    kit.github.get(path=ANNOTATIONS).respond(
        json=_annotations_shown((twin.model_copy(update={"message": "two\r\nlines"}),))
    )
    update = kit.github.patch(UPDATE).respond(json=check_run())
    await kit.host.update_check_run(REPO, 11, _check(annotations=(twin, twin)))
    assert _titles(kit.list_requests(update)) == ["T"]


async def test_an_update_without_annotations_is_one_request(kit: Kit) -> None:
    update = kit.github.patch(UPDATE).respond(json=check_run(status="in_progress", conclusion=None))
    ref = await kit.host.update_check_run(REPO, 11, _check(status="in_progress", conclusion=None))
    assert not ref.is_completed
    assert kit.count_requests() == 1
    assert "conclusion" not in _body(kit.list_requests(update)[0])


@pytest.mark.parametrize("listed", [httpx.Response(500), httpx.Response(200, json=_annotations_shown(_annotations(1)))])
async def test_nothing_is_written_when_the_shown_annotations_cannot_be_read(kit: Kit, listed: httpx.Response) -> None:
    kit.github.get(UPDATE).respond(json={"output": {"annotations_count": 2}})
    kit.github.get(path=ANNOTATIONS).mock(return_value=listed)
    update = kit.github.patch(UPDATE).respond(json=check_run())
    with pytest.raises(Unavailable):
        await kit.host.update_check_run(REPO, 11, _check(annotations=_annotations(1)))
    assert not update.called


async def test_long_texts_are_cut_to_githubs_bounds(kit: Kit) -> None:
    create = kit.github.post(CREATE).respond(201, json=check_run())
    long = "ä😀" * 70_000
    one = Annotation(path="a.py", start_line=5, end_line=2, level="failure", title=long, message=long)
    await kit.host.create_check_run(REPO, _check(title=long, summary=long, text=long, annotations=(one,)))
    output = _body(kit.list_requests(create)[0])["output"]
    assert len(output["title"]) == 255
    assert len(output["summary"]) <= 65_535
    assert len(output["text"]) <= 65_535
    annotation = output["annotations"][0]
    assert len(annotation["title"]) == 255
    assert len(annotation["message"].encode()) <= 64 * 1024
    assert (annotation["start_line"], annotation["end_line"]) == (5, 5)


async def test_an_annotation_always_has_a_message(kit: Kit) -> None:
    create = kit.github.post(CREATE).respond(201, json=check_run())
    silent = Annotation(path="a.py", start_line=1, end_line=1, level="notice", title="Unused import", message=" ")
    await kit.host.create_check_run(REPO, _check(annotations=(silent,)))
    assert _body(kit.list_requests(create)[0])["output"]["annotations"][0]["message"] == "Unused import"


_BUTTON = Button(label="Approve", description="Approve this head", identifier="approve")


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "completed", "conclusion": None},
        {"status": "in_progress"},
        {"status": "queued"},
        {"buttons": (_BUTTON,) * 4},
        {"buttons": (_BUTTON.model_copy(update={"label": "x" * 21}),)},
        {"buttons": (_BUTTON.model_copy(update={"description": "x" * 41}),)},
        {"buttons": (_BUTTON.model_copy(update={"identifier": "x" * 21}),)},
        {"buttons": (_BUTTON.model_copy(update={"label": ""}),)},
    ],
)
async def test_what_github_would_refuse_is_not_sent(kit: Kit, wrong: dict[str, object]) -> None:
    for write in (
        kit.host.create_check_run(REPO, _check(**wrong)),
        kit.host.update_check_run(REPO, 11, _check(**wrong)),
    ):
        with pytest.raises(Unprocessable):
            await write
    assert len(kit.github.calls) == 0


async def test_buttons_within_bounds_are_sent(kit: Kit) -> None:
    create = kit.github.post(CREATE).respond(201, json=check_run())
    await kit.host.create_check_run(REPO, _check(buttons=(_BUTTON,) * 3))
    assert _body(kit.list_requests(create)[0])["actions"] == [_BUTTON.model_dump()] * 3


async def test_a_check_run_is_found_by_its_external_id_on_its_head(kit: Kit) -> None:
    runs = [
        check_run(1, external_id="run-2"),
        check_run(2, head_sha="c" * 40),
        check_run(3, external_id=None),
        check_run(4, status="queued", conclusion=None),
    ]
    path = f"/repos/acme/app/commits/{HEAD}/check-runs"
    kit.github.get(path=path).respond(json={"total_count": 4, "check_runs": runs})
    found = await kit.host.find_check_run(REPO, HEAD, "run-1")
    assert found is not None
    assert (found.id, found.is_completed, found.conclusion) == (4, False, None)
    assert await kit.host.find_check_run(REPO, HEAD, "run-9") is None


async def test_a_surprising_answer_to_a_write_is_unavailable(kit: Kit) -> None:
    kit.github.post(CREATE).mock(side_effect=in_turn(httpx.Response(201, json={"id": None})))
    with pytest.raises(Unavailable, match="unexpected"):
        await kit.host.create_check_run(REPO, _check())
