"""What the forms do: each verb checks the role, does it as the person acting, and says where to go then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from simulator.errors import not_found
from simulator.pages import html
from simulator.pages.conversation import Subject, anchor_of
from simulator.pages.html import Visit, address, path
from simulator.state import Json, PullRequest

Verb = Callable[[Visit], Awaitable[str]]


async def perform(visit: Visit) -> str:
    """Do the verb of the address on its issue or pull request.

    :raises PermissionError: if the person acting may not.
    """
    issue, verb = visit.issue(), visit.params["verb"]
    known: dict[str, Verb] = {**_ON_ISSUES, **(_ON_PULLS if isinstance(issue, PullRequest) else {})}
    if verb not in known:
        raise not_found()
    refused = html.refusal(visit.viewer, issue, verb)
    if refused is not None:
        raise PermissionError(refused)
    return await known[verb](visit)


async def open_issue(visit: Visit) -> str:
    issue = await visit.user.open_issue(visit.repository(), visit.form.get("title", ""), visit.form.get("body"))
    return address(issue)


async def commit_file(visit: Visit) -> str:
    repository, branch, name = visit.repository(), visit.params["branch"], visit.params["path"]
    content = visit.form.get("content", "").replace("\r\n", "\n")
    message, new_branch = visit.form.get("message") or f"Update {name}", visit.form.get("new_branch", "").strip()
    if new_branch:
        await visit.user.push(repository, new_branch, {name: content}, message, base=branch)
        return address(await visit.user.open_pull_request(repository, new_branch, branch, message))
    await visit.user.push(repository, branch, {name: content}, message)
    pulls = (pull for pull in visit.world.all_pulls() if pull.head_repository is repository and pull.state == "open")
    pull = next((pull for pull in pulls if pull.head_ref == branch), None)
    return address(pull) if pull is not None else address(repository)


async def propose(visit: Visit) -> str:
    base, _, head = visit.params["range"].partition("...")
    title, body = visit.form.get("title", ""), visit.form.get("body")
    return address(await visit.user.open_pull_request(visit.repository(), head, base, title, body))


async def _comment(visit: Visit) -> str:
    comment = await visit.user.comment(visit.issue(), visit.form.get("body", ""))
    return f"{address(comment.issue)}#{anchor_of(comment)}"


async def _state(visit: Visit) -> str:
    issue = visit.issue()
    await (visit.user.close(issue) if visit.form.get("state") == "closed" else visit.user.reopen(issue))
    return address(issue)


async def _labels(visit: Visit) -> str:
    issue, user = visit.issue(), visit.user
    if visit.form.get("remove"):
        await user.unlabel(issue, visit.form["remove"])
    elif visit.form.get("add", "").strip():
        await user.label(issue, visit.form["add"].strip())
    return address(issue)


async def _react(visit: Visit) -> str:
    subject = _subject(visit)
    await visit.user.react(subject, visit.form.get("content", ""))
    return f"{address(visit.issue())}#{anchor_of(subject)}"


def _subject(visit: Visit) -> Subject:
    issue = visit.issue()
    more = [*issue.reviews, *issue.review_comments()] if isinstance(issue, PullRequest) else []
    subjects = (item for item in (issue, *issue.comments, *more) if anchor_of(item) == visit.form.get("subject"))
    found = next(subjects, None)
    if found is None:
        raise not_found()
    return found


async def _ready(visit: Visit) -> str:
    pull, user = visit.pull(), visit.user
    await (user.mark_ready(pull) if visit.form.get("ready") == "yes" else user.convert_to_draft(pull))
    return address(pull)


async def _merge(visit: Visit) -> str:
    await visit.user.merge(visit.pull())
    return address(visit.pull())


async def _review(visit: Visit) -> str:
    review = await visit.user.review(visit.pull(), visit.form.get("event", ""), visit.form.get("body", ""))
    return f"{address(review.pull)}#{anchor_of(review)}"


async def _line(visit: Visit) -> str:
    more: Json = {"side": visit.form.get("side", "RIGHT")}
    if visit.number("start_line"):
        more |= {"start_line": visit.number("start_line"), "start_side": more["side"]}
    name, line, body = visit.form.get("path", ""), visit.number("line"), visit.form.get("body", "")
    comment = await visit.user.comment_on_line(visit.pull(), name, line, body, **more)
    return f"{address(comment.pull, 'files')}#{anchor_of(comment)}"


async def _reply(visit: Visit) -> str:
    comment = await visit.user.reply(visit.review_comment(visit.pull()), visit.form.get("body", ""))
    return f"{_tab(visit)}#{anchor_of(comment)}"


async def _resolve(visit: Visit) -> str:
    thread, user = visit.thread(visit.pull()), visit.user
    await (user.resolve(thread) if visit.form.get("resolved") == "yes" else user.unresolve(thread))
    return _tab(visit)


async def _apply(visit: Visit) -> str:
    await visit.user.apply_suggestion(visit.review_comment(visit.pull()))
    return _tab(visit)


async def _press(visit: Visit) -> str:
    pull = visit.pull()
    run = visit.check_run(pull.repository, visit.number("run"))
    await visit.user.press(run, visit.form.get("identifier", ""))
    return address(pull, "checks") + f"?check_run_id={run.id}"


async def _rerun(visit: Visit) -> str:
    pull = visit.pull()
    run = visit.check_run(pull.repository, visit.number("run"))
    await visit.user.rerequest(run)
    return address(pull, "checks") + f"?check_run_id={run.id}"


def _tab(visit: Visit) -> str:
    return address(visit.pull()) + (path("files") if visit.form.get("tab") else "")


_ON_ISSUES: dict[str, Verb] = {"comment": _comment, "state": _state, "labels": _labels, "react": _react}
_ON_PULLS: dict[str, Verb] = {
    "ready": _ready,
    "merge": _merge,
    "review": _review,
    "line": _line,
    "reply": _reply,
    "resolve": _resolve,
    "apply": _apply,
    "press": _press,
    "rerun": _rerun,
}
