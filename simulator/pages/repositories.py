"""Repositories: the list of all, one with its branches and pull requests, its files and commits."""

from __future__ import annotations

from simulator.errors import not_found
from simulator.gitstore import EMPTY_TREE
from simulator.pages import checks, files
from simulator.pages.html import Content, Html, Visit, address, button, div, element, fold, form, link, text_area
from simulator.pages.layout import count, label_badge, moment, page, person, state_badge
from simulator.state import Account, Issue, PullRequest, Repository

_SHOWN_BYTES = 500_000
_SHOWN_FILES = 100


def front(visit: Visit) -> Html:
    seen = [repository for repository in visit.world.repositories.values() if visit.sees(repository)]
    title = element("h1", "Repositories")
    intro = element("p", "A GitHub that exists on this machine only, to try an App on.", class_="quiet")
    return page(visit, "Repositories", title, intro, _list([_repository(item) for item in seen]))


def account(visit: Visit) -> Html:
    """Where mentions lead."""
    who: Account | None = visit.world.accounts.get(visit.params["owner"].lower())
    if who is None:
        raise not_found()
    owned = [item for item in visit.world.repositories.values() if item.owner is who and visit.sees(item)]
    kind = element("p", who.type, class_="quiet")
    return page(visit, who.login, element("h1", who.login), kind, _list([_repository(item) for item in owned]))


def show(visit: Visit) -> Html:
    repository = visit.repository()
    issues = sorted(repository.issues.values(), key=lambda issue: issue.number, reverse=True)
    opened = [issue for issue in issues if issue.state == "open"]
    sections = [
        ("Open pull requests", [_issue(issue) for issue in opened if isinstance(issue, PullRequest)]),
        ("Open issues", [_issue(issue) for issue in opened if not isinstance(issue, PullRequest)]),
        ("Closed", [_issue(issue) for issue in issues if issue.state == "closed"]),
        ("Files", _files(repository)),
        ("Branches", [_branch(repository, name, sha) for name, sha in repository.git.refs().items()]),
    ]
    shown = [[element("h2", title), _list(items)] for title, items in sections]
    heading = [element("h1", repository.full_name), checks.render_summary(repository)]
    return page(visit, repository.full_name, heading, shown, _new_issue(repository), repository=repository)


def blob(visit: Visit) -> Html:
    """A file at a revision, with line numbers to link to."""
    repository, name = visit.repository(), visit.params["path"]
    lines = _read(repository, visit.params["revision"], name).splitlines()
    rows = [
        element("tr", element("td", number, class_="number"), element("td", line, class_="code"), id=f"L{number}")
        for number, line in enumerate(lines, start=1)
    ]
    title = element("h1", element("code", name))
    return page(
        visit,
        name,
        title,
        div("file", div("diff", element("table", element("col", class_="number"), element("col"), rows))),
        repository=repository,
    )


def edit(visit: Visit) -> Html:
    """A form that commits a new version of a file, GitHub's pencil."""
    repository, branch, name = visit.repository(), visit.params["branch"], visit.params["path"]
    content = _read(repository, branch, name)
    title = element("h1", "Edit ", element("code", name), " on ", element("code", branch))
    box = text_area("Content", name="content", rows=30, value=content)
    message = element("input", name="message", value=f"Update {name}", aria_label="Commit message")
    branches = "A new branch, to propose it as a pull request; empty: " + branch
    new = element("input", name="new_branch", placeholder=branches, aria_label="New branch", maxlength=100)
    commit = form(
        visit.here, box, div("row", message, new, button("Commit changes", class_="primary")), class_="editor"
    )
    return page(visit, f"Edit {name}", title, commit, repository=repository)


def commit(visit: Visit) -> Html:
    repository = visit.repository()
    sha = repository.git.resolve(visit.params["sha"])
    if sha is None:
        raise not_found()
    found = repository.git.commit(sha)
    title, _, rest = found.message.partition("\n")
    changes = repository.git.diff(found.parents[0] if found.parents else EMPTY_TREE, sha)
    by = div("subtitle", found.author_name, " committed ", element("code", sha[:7]), " ", moment(found.committer_date))
    more = element("pre", rest.strip()) if rest.strip() else None
    return page(visit, title, element("h1", title), by, more, *files.diff(changes), repository=repository)


def compare(visit: Visit) -> Html:
    """What the second of two revisions adds to what they have in common."""
    repository, between = visit.repository(), visit.params["range"]
    base, _, head = between.partition("...")
    ends = [repository.git.resolve(name) for name in (base, head) if name]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise not_found()
    start = repository.git.merge_base(ends[0], ends[1]) or ends[0]
    changes = repository.git.diff(start, ends[1])
    is_branch = repository.git.branch(head) is not None
    offer = _propose(visit, repository.git.commit(ends[1]).message) if is_branch and changes else None
    shown = [element("h1", element("code", between)), offer, *files.diff(changes)]
    return page(visit, between, *shown, repository=repository)


def _propose(visit: Visit, message: str) -> Html:
    """A form that opens a pull request from a branch that somebody pushed."""
    title = element("input", name="title", value=message.partition("\n")[0], aria_label="Title", required=True)
    more = text_area("Description")
    return form(visit.here, div("row", title, button("Open pull request", class_="primary")), more)


def _read(repository: Repository, revision: str, name: str) -> str:
    sha = repository.git.resolve(revision)
    content = repository.git.read(sha, name) if sha else None
    if content is None:
        raise not_found()
    return content[:_SHOWN_BYTES].decode(errors="replace")


def _list(items: list[Html]) -> Html:
    return element("ul", [element("li", item) for item in items], class_="list") if items else element("p", "None.")


def _repository(repository: Repository) -> Html:
    opened = [issue for issue in repository.issues.values() if issue.state == "open"]
    fork = f" · fork of {repository.parent.full_name}" if repository.parent else ""
    pulls = sum(isinstance(issue, PullRequest) for issue in opened)
    note = f"{count(len(opened) - pulls, 'open issue')}, {count(pulls, 'open pull request')}{fork}"
    return div("row", link(address(repository), element("b", repository.full_name)), element("small", note))


def _issue(issue: Issue) -> Html:
    labels = [label_badge(label.name, label.color) for label in issue.labels]
    by = element("small", f"#{issue.number} by ", person(issue.user), " ", moment(issue.created_at))
    return div("row", state_badge(issue), link(address(issue), element("b", issue.title)), labels, by)


def _branch(repository: Repository, ref: str, sha: str) -> Html:
    head = repository.git.commit(sha)
    commit_link = link(address(repository, "commit", sha), element("code", sha[:7]))
    branch = ref.removeprefix("refs/heads/")
    name = link(address(repository, "compare", f"{repository.default_branch}...{branch}"), element("code", branch))
    message = head.message.split("\n", 1)[0]
    return div("row", name, commit_link, element("small", message, " ", moment(head.committer_date)))


def _files(repository: Repository) -> list[Html]:
    """Those of the default branch, each with GitHub's pencil."""
    branch = repository.default_branch
    sha = repository.git.branch(branch)
    found = repository.git.entries(sha, recursive=True)[:_SHOWN_FILES] if sha else []
    names = [entry.path for entry in found if entry.type == "blob"]
    return [
        div(
            "row",
            link(address(repository, "blob", branch, *name.split("/")), element("code", name)),
            link(address(repository, "edit", branch, *name.split("/")), "Edit"),
        )
        for name in names
    ]


def _new_issue(repository: Repository) -> Html:
    title = element("input", name="title", placeholder="Title", aria_label="Title", required=True)
    fields: list[Content] = [title, text_area("Description"), button("Open issue", class_="primary")]
    return fold("New issue", form(address(repository, "issues"), *fields))
