"""Check runs and suites, with GitHub's limits on what an App may report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, cast

from simulator import check_json
from simulator.errors import Refusal, malformed
from simulator.gitstore import NO_COMMIT
from simulator.state import STALE_AFTER, Account, App, CheckRun, CheckSuite, Json, Repository, World
from simulator.webhooks import Actor, emit_check_run, emit_check_suite

STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out")
LEVELS = ("notice", "warning", "failure")
TEXT_LIMIT = 65_535
RAW_LIMIT = 64 * 1024
ACTION_LIMITS = {"label": 20, "description": 40, "identifier": 20}


def suite_of(world: World, repository: Repository, app: App, sha: str) -> CheckSuite:
    """Every head has one suite per App."""
    found = (suite for suite in repository.suites if suite.app is app and suite.head_sha == sha)
    suite = next(found, None)
    if suite is None:
        branches = repository.git.refs().items()
        branch = next((name.removeprefix("refs/heads/") for name, head in branches if head == sha), None)
        suite = CheckSuite(world.next_id(), repository, app, sha, branch, None, world.now(), world.now())
        repository.suites.append(suite)
    return suite


def open_suite(world: World, repository: Repository, sha: str, branch: str, before: str, sender: Account) -> None:
    """A push opens a suite for each App that may write checks, and asks the App for its runs."""
    installation = world.installation_of(repository)
    if installation is None or installation.permissions.get("checks") != "write":
        return
    suite = suite_of(world, repository, world.app, sha)
    suite.head_branch, suite.before = branch, before or NO_COMMIT
    emit_check_suite(world, "requested", suite, sender)


def create(world: World, repository: Repository, by: Actor, body: Json) -> CheckRun:
    name, sha = body.get("name"), body.get("head_sha")
    if not isinstance(name, str) or not name:
        raise malformed('"name" wasn\'t supplied.')
    if not isinstance(sha, str) or not sha:
        raise malformed('"head_sha" wasn\'t supplied.')
    _check(body)
    if len(sha) != 40 or repository.git.resolve(sha) != sha:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    return add_run(world, suite_of(world, repository, by.app or world.app, sha), by, body)


def add_run(world: World, suite: CheckSuite, by: Actor, body: Json) -> CheckRun:
    """A run in a suite; what the body says was checked before."""
    now, started = world.now(), _moment(body, "started_at")
    repository, name, sha = suite.repository, str(body["name"]), suite.head_sha
    run = CheckRun(world.next_id(), repository, suite, name, sha, "queued", None, "", None, now, started, None)
    _apply(world, run, body)
    run.started_at = run.started_at or now
    suite.runs.append(run)
    world.check_runs[run.id] = run
    emit_check_run(world, "created", run, by.account)
    _announce(world, run, by)
    return run


def update(world: World, run: CheckRun, by: Actor, body: Json) -> CheckRun:
    if by.app is not run.app:
        number = by.app.id if by.app else 0
        raise Refusal(
            403, f"Invalid app_id `{number}` - check run can only be modified by the GitHub App that created it."
        )
    if body.get("head_sha") not in (None, run.head_sha):
        raise malformed('"head_sha" is not a permitted key.')
    _check(body)
    was_completed = run.status == "completed"
    _apply(world, run, body)
    if run.status != "completed" or not was_completed:
        _announce(world, run, by)
    return run


def _announce(world: World, run: CheckRun, by: Actor) -> None:
    run.suite.updated_at = world.now()
    if run.status != "completed":
        run.suite.announced = False
        return
    emit_check_run(world, "completed", run, by.account)
    if check_json.suite_status(run.suite)[0] == "completed" and not run.suite.announced:
        run.suite.announced = True
        emit_check_suite(world, "completed", run.suite, by.account)


def _apply(world: World, run: CheckRun, body: Json) -> None:
    run.name = body.get("name") or run.name
    run.external_id = body.get("external_id", run.external_id)
    run.details_url = body.get("details_url", run.details_url)
    run.started_at = _moment(body, "started_at") or run.started_at
    run.actions = body.get("actions", run.actions)
    _apply_status(world, run, body)
    output = cast(Json, body.get("output") or {})
    run.title, run.summary = output.get("title", run.title), output.get("summary", run.summary)
    run.text = output.get("text", run.text)
    annotate(world, run, cast(list[Json], output.get("annotations") or []))


def annotate(world: World, run: CheckRun, annotations: Iterable[Json]) -> None:
    """Add to the lines that the run says something about."""
    run.annotations += [_annotation(world, run, item) for item in annotations]


def _apply_status(world: World, run: CheckRun, body: Json) -> None:
    # A conclusion completes the run, whatever status came with it.
    conclusion = body.get("conclusion")
    status = "completed" if conclusion else body.get("status", run.status)
    if status == "completed":
        run.conclusion = conclusion or run.conclusion
        run.completed_at = _moment(body, "completed_at") or (run.completed_at if not conclusion else world.now())
    else:
        run.conclusion = run.completed_at = None
    run.status = status


def _annotation(world: World, run: CheckRun, item: Json) -> Json:
    keys = ("path", "start_line", "end_line", "start_column", "end_column", "annotation_level", "title", "message")
    blob = f"{world.url}/{run.repository.full_name}/blob/{run.head_sha}/{item['path']}"
    return {**{key: item.get(key) for key in keys}, "raw_details": item.get("raw_details"), "blob_href": blob}


def _check(body: Json) -> None:
    """Refuse what GitHub's schema refuses, before anything is stored."""
    status, conclusion = body.get("status"), body.get("conclusion")
    if status is not None and status not in STATUSES:
        raise malformed(f"{status} is not a possible value for status: {', '.join(STATUSES)}.")
    if conclusion is not None and conclusion not in CONCLUSIONS:
        raise malformed(f"{conclusion} is not a possible value for conclusion: {', '.join(CONCLUSIONS)}.")
    if status == "completed" and conclusion is None:
        raise malformed('"conclusion" wasn\'t supplied; it is required when the status is "completed".')
    for key in ("started_at", "completed_at"):
        _moment(body, key)
    _check_actions(body.get("actions"))
    if body.get("output") is not None:
        _check_output(body["output"])


def _moment(body: Json, key: str) -> datetime | None:
    if body.get(key) is None:
        return None
    try:
        return datetime.fromisoformat(str(body[key]))
    except ValueError:
        raise malformed(f"{body[key]} is not a valid date-time for {key}.") from None


def _check_actions(actions: Any) -> None:
    if actions is None:
        return
    if not isinstance(actions, list):
        raise malformed("actions is not an array.")
    given = cast(list[Json], actions)
    if len(given) > 3:
        raise malformed(f"No more than 3 items are allowed; {len(given)} were supplied.")
    for action in given:
        for key, limit in ACTION_LIMITS.items():
            text = action.get(key)
            if not isinstance(text, str) or not text:
                raise malformed(f'"{key}" wasn\'t supplied.')
            if len(text) > limit:
                raise malformed(f"{key}: Only {limit} characters are allowed; {len(text)} were supplied.")


def _check_output(output: Any) -> None:
    if not isinstance(output, dict):
        raise malformed("output is not an object.")
    given = cast(Json, output)
    for key in ("title", "summary"):
        if not isinstance(given.get(key), str):
            raise malformed(f'"{key}" wasn\'t supplied.')
    for key in ("summary", "text"):
        _limit(given.get(key), key, TEXT_LIMIT, len)
    annotations = cast(list[Json], given.get("annotations") or [])
    if len(annotations) > 50:
        raise malformed(f"No more than 50 items are allowed; {len(annotations)} were supplied.")
    for annotation in annotations:
        _check_annotation(annotation)


def _check_annotation(annotation: Json) -> None:
    for key in ("path", "start_line", "end_line", "annotation_level", "message"):
        if annotation.get(key) in (None, ""):
            raise malformed(f'"{key}" wasn\'t supplied.')
    start, end = annotation["start_line"], annotation["end_line"]
    if not isinstance(start, int) or not isinstance(end, int) or start < 0 or end < start:
        raise malformed("start_line and end_line must be whole numbers, and end_line not before start_line.")
    if annotation["annotation_level"] not in LEVELS:
        raise malformed(f"{annotation['annotation_level']} is not a member of {', '.join(LEVELS)}.")
    if start != end and (annotation.get("start_column") or annotation.get("end_column")):
        raise malformed("start_column and end_column are only allowed when start_line and end_line are the same.")
    _limit(annotation.get("title"), "title", 255, len)
    for key in ("message", "raw_details"):
        _limit(annotation.get(key), key, RAW_LIMIT, lambda text: len(text.encode()))


def _limit(text: object, key: str, limit: int, size: Callable[[str], int]) -> None:
    if isinstance(text, str) and size(text) > limit:
        raise malformed(f"{key}: Only {limit} characters are allowed; {size(text)} were supplied.")


def rerequest(world: World, run: CheckRun, by: Account) -> None:
    """Asks the App to run again; the run itself stays as it is. Only the App that made it hears of it."""
    if run.app is world.app:
        emit_check_run(world, "rerequested", run, by)


def rerequest_suite(world: World, suite: CheckSuite, by: Account) -> None:
    if suite.app is world.app:
        emit_check_suite(world, "rerequested", suite, by)


def press(world: World, run: CheckRun, by: Account, identifier: str) -> None:
    """Press one of the run's buttons, which show only once it is completed."""
    if run.status != "completed":
        raise LookupError(f"{run.name} shows no buttons while it is {run.status}")
    if identifier not in [action["identifier"] for action in run.actions]:
        raise LookupError(f"{run.name} has no button {identifier!r}")
    if run.app is world.app:
        emit_check_run(world, "requested_action", run, by, requested_action={"identifier": identifier})


def expire(world: World, runs: Iterable[CheckRun]) -> None:
    """What has not completed for 14 days is stale."""
    for run in runs:
        if run.status != "completed" and world.now() - run.created_at > STALE_AFTER:
            run.status, run.conclusion, run.completed_at = "completed", "stale", world.now()


def runs_on(world: World, repository: Repository, sha: str) -> list[CheckRun]:
    """All runs of that head, oldest first."""
    found = [run for suite in repository.suites if suite.head_sha == sha for run in suite.runs]
    expire(world, found)
    return sorted(found, key=lambda run: run.id)
