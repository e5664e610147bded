"""Issues, their comments, labels and reactions."""

from __future__ import annotations

from simulator import repository_json
from simulator.errors import Refusal, check_body, check_title, invalid
from simulator.state import (
    Edit,
    Issue,
    IssueComment,
    Label,
    PullRequest,
    Reaction,
    Repository,
    Review,
    ReviewComment,
    World,
)
from simulator.webhooks import Actor, emit, emit_issue, emit_pull

LABEL_LENGTH = 50


def open_issue(world: World, repository: Repository, by: Actor, title: str, body: str | None) -> Issue:
    check_title("Issue", title)
    check_body("Issue", body, required=False)
    now = world.now()
    issue = Issue(world.next_id(), next_number(repository), repository, by.account, title, body, now, now, app=by.app)
    repository.issues[issue.number] = issue
    emit_issue(world, "opened", issue, by.account)
    return issue


def next_number(repository: Repository) -> int:
    """Issues and pull requests share one sequence."""
    return max(repository.issues, default=0) + 1


def edit_issue(world: World, issue: Issue, by: Actor, title: str | None, body: str | None) -> None:
    check_body("Issue", body, required=False)
    if title is not None:
        check_title("PullRequest" if isinstance(issue, PullRequest) else "Issue", title)
    changes: dict[str, object] = {}
    if title is not None and title != issue.title:
        changes["title"], issue.title = {"from": issue.title}, title
        issue.renames.append(Edit(world.next_id(), by.account, world.now()))
    if body is not None and body != issue.body:
        changes["body"], issue.body = {"from": issue.body}, body
        note_edit(world, issue, by)
    issue.updated_at = world.now()
    if changes:
        _announce(world, "edited", issue, by, changes=changes)


def note_edit(world: World, text: Issue | IssueComment | ReviewComment | Review, by: Actor) -> None:
    """Keep who changed a text. With the first change GitHub lists the writing, too."""
    if not text.edits:
        written_at = text.submitted_at or world.now() if isinstance(text, Review) else text.created_at
        text.edits.append(Edit(world.next_id(), text.user, written_at))
    text.edits.append(Edit(world.next_id(), by.account, world.now()))


def set_issue_state(world: World, issue: Issue, by: Actor, state: str) -> None:
    if state == issue.state:
        return
    issue.state = "closed" if state == "closed" else "open"
    issue.updated_at = world.now()
    issue.closed_at = world.now() if state == "closed" else None
    emit_issue(world, "closed" if state == "closed" else "reopened", issue, by.account)


def set_locked(world: World, issue: Issue, by: Actor, locked: bool) -> None:
    if issue.locked != locked:
        issue.locked, issue.updated_at = locked, world.now()
        _announce(world, "locked" if locked else "unlocked", issue, by)


def refuse_if_locked(issue: Issue, by: Actor, *, reacting: bool = False) -> None:
    """In a locked conversation people who may write go on, Apps do not, and nobody gives reactions."""
    if issue.locked and (reacting or by.app is not None or not issue.repository.allows(by.account, "write")):
        raise Refusal(403, "Unable to create comment because issue is locked.")


def _announce(world: World, action: str, issue: Issue, by: Actor, **fields: object) -> None:
    if isinstance(issue, PullRequest):
        emit_pull(world, action, issue, by.account, **fields)
    else:
        emit_issue(world, action, issue, by.account, **fields)


def add_comment(world: World, issue: Issue, by: Actor, body: object) -> IssueComment:
    text = check_body("IssueComment", body)
    refuse_if_locked(issue, by)
    now = world.now()
    comment = IssueComment(world.next_id(), issue, by.account, text, now, now, by.app)
    issue.comments.append(comment)
    issue.updated_at = now
    world.comments[comment.id] = comment
    _announce_comment(world, "created", comment, by)
    return comment


def edit_comment(world: World, comment: IssueComment, by: Actor, body: object) -> None:
    text, before = check_body("IssueComment", body), comment.body
    comment.body, comment.updated_at = text, world.now()
    note_edit(world, comment, by)
    _announce_comment(world, "edited", comment, by, changes={"body": {"from": before}})


def delete_comment(world: World, comment: IssueComment, by: Actor) -> None:
    comment.issue.comments.remove(comment)
    del world.comments[comment.id]
    _announce_comment(world, "deleted", comment, by)


def _announce_comment(world: World, action: str, comment: IssueComment, by: Actor, **fields: object) -> None:
    issue, shape = repository_json.issue(world, comment.issue), repository_json.issue_comment(world, comment)
    emit(world, "issue_comment", action, comment.repository, by.account, issue=issue, comment=shape, **fields)


def react(
    world: World, subject: IssueComment | ReviewComment | Review | Issue, by: Actor, content: str
) -> tuple[Reaction, bool]:
    """Adds a reaction once; there is no webhook for it. The second value tells whether it is new."""
    if content not in repository_json.REACTIONS:
        raise Refusal(422, "Validation Failed", ["content is not included in the list"])
    refuse_if_locked(_place(subject), by, reacting=True)
    given = [item for item in subject.reactions if item.user is by.account and item.content == content]
    if given:
        return given[0], False
    reaction = Reaction(world.next_id(), by.account, content, world.now())
    subject.reactions.append(reaction)
    return reaction, True


def _place(subject: IssueComment | ReviewComment | Review | Issue) -> Issue:
    """The issue or pull request of a comment."""
    if isinstance(subject, Issue):
        return subject
    return subject.issue if isinstance(subject, IssueComment) else subject.pull


def label_named(world: World, repository: Repository, name: str) -> Label:
    """The repository's label of that name; adding an unknown one to an issue creates it."""
    key = name.lower()
    if not name.strip() or len(name) > LABEL_LENGTH:
        raise invalid("Label", "name", "missing_field" if not name.strip() else "too_long")
    if key not in repository.labels:
        repository.labels[key] = Label(world.next_id(), name)
    return repository.labels[key]


def add_label(world: World, issue: Issue, by: Actor, name: str) -> None:
    label = label_named(world, issue.repository, name)
    if label not in issue.labels:
        issue.labels.append(label)
        issue.updated_at = world.now()
        _announce(world, "labeled", issue, by, label=repository_json.label(world, issue.repository, label))


def remove_label(world: World, issue: Issue, by: Actor, name: str) -> None:
    label = next((item for item in issue.labels if item.name.lower() == name.lower()), None)
    if label is None:
        raise Refusal(404, "Label does not exist")
    issue.labels.remove(label)
    issue.updated_at = world.now()
    _announce(world, "unlabeled", issue, by, label=repository_json.label(world, issue.repository, label))
