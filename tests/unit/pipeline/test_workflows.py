"""The table of workflows: each is listed once, with its work, and keeps what the database stores of it."""

import pytest

from pipeline.durable.queues import (
    ANSWER,
    AUTOMATE,
    CLOSE_RUN,
    CONSOLIDATE,
    DELIVERY,
    READ_REPLY,
    REFLECT,
    RUN,
    TEST,
    WORKFLOWS,
    Workflow,
)
from pipeline.worker.workflows import WORK

KEY: dict[str, str | int] = {"run": "01R", "repository": 7, "number": 3}


def test_each_workflow_is_listed_once_with_its_work() -> None:
    assert list(WORK) == list(WORKFLOWS)
    assert len({workflow.name for workflow in WORKFLOWS}) == len(WORKFLOWS)


@pytest.mark.parametrize(
    ("workflow", "key", "stored"),
    [
        (DELIVERY, {"guid": "G"}, ("delivery", "deliveries", "G", None)),
        (RUN, KEY, ("review_run", "runs", "01R", "7#3")),
        (RUN, {**KEY, "occasion": "G"}, ("review_run", "runs", "01R/G", "7#3")),
        (CLOSE_RUN, {"run": "01R"}, ("last_word", "deliveries", "01R/last word", None)),
        (CLOSE_RUN, {"run": "01R", "occasion": "G"}, ("last_word", "deliveries", "01R/last word after G", None)),
        (TEST, {**KEY, "occasion": "G"}, ("test", "tests", "01R/test G", "7#3")),
        (READ_REPLY, {**KEY, "occasion": "G"}, ("hear", "hearings", "01R/hear G", "7#3")),
        (ANSWER, {**KEY, "occasion": "G 0"}, ("answer", "hearings", "01R/answer G 0", "7#3")),
        (AUTOMATE, {"run": "01R", "occasion": 0}, ("acting", "deliveries", "01R/act 0", None)),
        (REFLECT, {**KEY, "occasion": "ended"}, ("reflect", "learning", "01R/reflection ended", "7")),
        (
            CONSOLIDATE,
            {"repository": 7, "occasion": "2026-11-24"},
            ("consolidate", "learning", "consolidate:2026-11-24:7", "7"),
        ),
    ],
)
def test_how_the_database_names_work(
    workflow: Workflow, key: dict[str, str | int], stored: tuple[str, str, str, str | None]
) -> None:
    options = workflow.build_options(**key)
    assert stored == (
        options["workflow_name"],
        options["queue_name"],
        options.get("workflow_id"),
        options.get("queue_partition_key"),
    )
    assert options.get("app_version") == "forge"
