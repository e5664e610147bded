"""Repositories over REST: contents, branches, commits, git objects, collaborators and dependency changes."""

from __future__ import annotations

import base64
from typing import Any

from simulator import branches, pull_json, repository_json
from simulator.errors import Refusal, malformed, not_found
from simulator.gitstore import EMPTY_TREE, NO_COMMIT, TreeEntry
from simulator.http import Answer, Call, Route
from simulator.state import Account, Activity, Json, Repository


def show_ref(call: Call) -> Answer:
    repository = call.repository("contents:read")
    name = f"refs/{call.params['ref']}"
    sha = repository.git.ref(name)
    if sha is None:
        raise not_found()
    return Answer(200, _ref(call, repository, name, sha))


def list_matching_refs(call: Call) -> Answer:
    repository = call.repository("contents:read")
    prefix = f"refs/{call.params['ref']}"
    found = [item for item in repository.git.refs("refs/").items() if item[0].startswith(prefix)]
    return call.page(found, lambda item: _ref(call, repository, item[0], item[1]))


def create_ref(call: Call) -> Answer:
    repository = call.repository("contents:write")
    name, sha = str(call.body.get("ref", "")), str(call.body.get("sha", ""))
    if not name.startswith("refs/heads/"):
        raise Refusal(422, "Reference name must start with 'refs/heads/' here")
    if repository.git.ref(name) is not None:
        raise Refusal(422, "Reference already exists")
    if len(sha) != 40 or repository.git.resolve(sha) is None:
        raise Refusal(422, "Object does not exist")
    branches.move_branch(call.world, repository, call.actor, name.removeprefix("refs/heads/"), sha)
    return Answer(201, _ref(call, repository, name, sha))


def update_ref(call: Call) -> Answer:
    repository = call.repository("contents:write")
    name, sha = f"refs/{call.params['ref']}", str(call.body.get("sha", ""))
    before = repository.git.ref(name)
    if before is None or not name.startswith("refs/heads/"):
        raise Refusal(422, "Reference does not exist")
    if repository.git.resolve(sha) is None:
        raise Refusal(422, "Object does not exist")
    if not call.body.get("force") and not repository.git.is_ancestor(before, sha):
        raise Refusal(422, "Update is not a fast forward")
    branches.move_branch(call.world, repository, call.actor, name.removeprefix("refs/heads/"), sha)
    return Answer(200, _ref(call, repository, name, sha))


def delete_ref(call: Call) -> Answer:
    repository = call.repository("contents:write")
    name = f"refs/{call.params['ref']}"
    if repository.git.ref(name) is None or not name.startswith("refs/heads/"):
        raise Refusal(422, "Reference does not exist")
    branches.move_branch(call.world, repository, call.actor, name.removeprefix("refs/heads/"), None)
    return Answer(204)


def show_git_commit(call: Call) -> Answer:
    repository = call.repository("contents:read")
    sha = repository.git.resolve(call.params["sha"])
    if sha is None:
        raise not_found()
    shape = pull_json.commit(call.world, repository, repository.git.commit(sha))
    return Answer(200, {"sha": sha, **shape["commit"], "parents": shape["parents"]})


def create_commit(call: Call) -> Answer:
    """GitHub signs what an App commits in its own name: https://docs.github.com/en/authentication (about commits)."""
    repository = call.repository("contents:write")
    message, tree = call.body.get("message"), call.body.get("tree")
    if not message or not tree:
        raise malformed(f'"{"tree" if message else "message"}" wasn\'t supplied.')
    parents: list[str] = call.body.get("parents") or []
    if any(repository.git.resolve(each) is None for each in parents):
        raise Refusal(422, "Parent SHA does not exist or is not a commit object")
    token, store = call.caller.token, repository.git
    is_bot = token is not None and token.user is None
    signs = call.world.signs_commits and is_bot and not {"author", "committer"} & call.body.keys()
    sha = store.commit_tree(
        str(tree), parents, str(message), call.actor.account.signature, call.world.now(), is_signed=signs
    )
    shape = pull_json.commit(call.world, repository, store.commit(sha))
    return Answer(201, {"sha": sha, **shape["commit"], "parents": shape["parents"]})


def create_blob(call: Call) -> Answer:
    repository = call.repository("contents:write")
    content = str(call.body.get("content", ""))
    data = base64.b64decode(content) if call.body.get("encoding") == "base64" else content.encode()
    sha = repository.git.write_blob(data)
    url = f"{call.world.api_url}/repos/{repository.full_name}/git/blobs/{sha}"
    return Answer(201, {"sha": sha, "url": url})


def create_tree(call: Call) -> Answer:
    """A tree with entries added to another one, replaced there, or removed by ``"sha": null``."""
    repository = call.repository("contents:write")
    base, store = call.body.get("base_tree"), repository.git
    if base is not None and store.run("cat-file", "-e", f"{base}^{{tree}}", check=False).returncode != 0:
        raise Refusal(422, "base_tree is not a tree oid")
    lines: list[str] = []
    wanted: list[Json] = call.body.get("tree") or []
    for entry in wanted:
        sha = store.write_blob(str(entry["content"]).encode()) if "content" in entry else entry.get("sha")
        lines.append(
            f"0 {NO_COMMIT}\t{entry['path']}\0" if sha is None else f"{entry['mode']} {sha}\t{entry['path']}\0"
        )
    sha = store.write_tree(None if base is None else str(base), "".join(lines))
    url = f"{call.world.api_url}/repos/{repository.full_name}/git/trees/{sha}"
    return Answer(201, {"sha": sha, "url": url, "tree": [], "truncated": False})


def show_tree(call: Call) -> Answer:
    repository = call.repository("contents:read")
    entries = repository.git.entries(call.params["sha"], recursive="recursive" in call.query)
    if not entries:
        raise not_found()
    tree: list[Json] = [
        {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
        | ({"size": entry.size} if entry.type == "blob" else {})
        for entry in entries
    ]
    return Answer(200, {"sha": call.params["sha"], "tree": tree[:100_000], "truncated": len(tree) > 100_000})


def show_blob(call: Call) -> Answer:
    repository = call.repository("contents:read")
    data = repository.git.blob(call.params["sha"])
    if data is None:
        raise not_found()
    content = base64.encodebytes(data).decode()
    return Answer(200, {"sha": call.params["sha"], "size": len(data), "encoding": "base64", "content": content})


_GIT = "/repos/{owner}/{repo}/git"


INLINE_BYTES = 1024 * 1024
LARGEST_BYTES = 100 * 1024 * 1024
_KINDS = {"120000": "symlink", "160000": "submodule", "040000": "dir"}


def show_repository(call: Call) -> Answer:
    repository = call.repository("metadata:read")
    token = call.caller.token
    held = token.permissions.get("contents") if token else None
    if token and token.user:
        permissions = repository_json.role_booleans(repository, token.user)
    else:
        push = held == "write"
        permissions = {"admin": False, "maintain": False, "push": push, "triage": False, "pull": held is not None}
    shape = repository_json.full_repository(call.world, repository, permissions)
    if not permissions["push"]:  # who may not merge is not told how it is done
        shape = {key: value for key, value in shape.items() if key not in repository_json.MERGE_SETTINGS}
    return Answer(200, shape)


def _commit(call: Call, repository: Repository, revision: str) -> str:
    sha = repository.git.resolve(revision)
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {revision}")
    return sha


def show_contents(call: Call) -> Answer:
    repository = call.repository("contents:read")
    path = call.params.get("path", "").strip("/")
    revision = call.query.get("ref") or repository.default_branch
    sha = repository.git.resolve(revision.removeprefix("refs/heads/"))
    if sha is None and "ref" not in call.query and repository.git.resolve(repository.default_branch) is None:
        raise Refusal(404, "This repository is empty.")
    if sha is None:
        raise Refusal(404, f"No commit found for the ref {revision}")
    entry = repository.git.entry(sha, path)
    if path and entry is None:
        raise not_found()
    if entry is None or entry.type == "tree":
        entries = repository.git.entries(sha, path)
        return Answer(200, [_entry(call, repository, item, revision) for item in entries])
    return _file(call, repository, entry, revision)


def _entry(call: Call, repository: Repository, entry: TreeEntry, revision: str) -> Json:
    url = f"{call.world.api_url}/repos/{repository.full_name}"
    html = f"{call.world.url}/{repository.full_name}"
    contents = f"{url}/contents/{entry.path}?ref={revision}"
    kind = _KINDS.get(entry.mode, "file")
    return {
        "type": kind,
        "size": entry.size,
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "url": contents,
        "git_url": f"{url}/git/{'trees' if kind == 'dir' else 'blobs'}/{entry.sha}",
        "html_url": f"{html}/blob/{revision}/{entry.path}",
        "download_url": f"{html}/raw/{revision}/{entry.path}",
        "_links": {"self": contents, "git": f"{url}/git/blobs/{entry.sha}", "html": f"{html}/blob/{entry.path}"},
    }


def _file(call: Call, repository: Repository, entry: TreeEntry, revision: str) -> Answer:
    shape = _entry(call, repository, entry, revision)
    if shape["type"] == "submodule":
        return Answer(200, shape)
    data = repository.git.blob(entry.sha) or b""
    if shape["type"] == "symlink":
        return Answer(200, shape | {"target": data.decode(errors="replace")})
    if len(data) > LARGEST_BYTES:
        error = {"resource": "Blob", "field": "data", "code": "too_large"}
        raise Refusal(403, "This API returns blobs up to 100 MB in size.", [error])
    if "raw" in call.accept:
        return Answer(200, data, content_type="application/vnd.github.raw+json; charset=utf-8")
    if len(data) > INLINE_BYTES:
        return Answer(200, shape | {"content": "", "encoding": "none"})
    content = base64.encodebytes(data).decode()
    return Answer(200, shape | {"content": content, "encoding": "base64"})


def list_collaborators(call: Call) -> Answer:
    """Who was given access: directly, as a member of the owner, or as one of its owners."""
    repository = call.repository("metadata:read")
    level = call.query.get("permission", "pull")
    if level not in repository_json.role_booleans(repository, repository.owner):
        raise malformed(f"{level} is not a member of pull, triage, push, maintain, admin.")
    listed = [
        who for who in repository.collaborators(call.world) if repository_json.role_booleans(repository, who)[level]
    ]
    return call.page(listed, lambda who: repository_json.collaborator(call.world, repository, who))


def show_permission(call: Call) -> Answer:
    repository = call.repository("metadata:read")
    login = call.params["login"]
    account = call.world.accounts.get(login.lower())
    if account is None or account.type == "Organization":
        raise Refusal(404, f"{login} is not a user")
    return Answer(200, permission(call, repository, account))


def permission(call: Call, repository: Repository, account: Account) -> Json:
    """`permission` knows four levels only; `role_name` and the booleans tell triage and maintain apart."""
    role = repository.role_of(account)
    legacy = {"triage": "read", "maintain": "write"}.get(role, role)
    user = repository_json.collaborator(call.world, repository, account)
    return {"permission": legacy, "role_name": user["role_name"], "user": user}


def show_commit(call: Call) -> Answer:
    repository = call.repository("contents:read")
    sha = _commit(call, repository, call.params["revision"])
    info = repository.git.commit(sha)
    parent = info.parents[0] if info.parents else EMPTY_TREE
    files = repository.git.diff(parent, sha)
    if "diff" in call.accept:
        return Answer(200, "".join(file.text for file in files).encode(), content_type="text/plain; charset=utf-8")
    additions, deletions = sum(f.additions for f in files), sum(f.deletions for f in files)
    stats = {"additions": additions, "deletions": deletions, "total": additions + deletions}
    listed = [pull_json.file(call.world, repository, sha, file) for file in files[:300]]
    return Answer(200, {**pull_json.commit(call.world, repository, info), "stats": stats, "files": listed})


def list_commits(call: Call) -> Answer:
    repository = call.repository("contents:read")
    sha = _commit(call, repository, call.query.get("sha") or repository.default_branch)
    found = repository.git.history(sha, 1000, call.query.get("path"))
    return call.page(found, lambda item: pull_json.commit(call.world, repository, item))


def compare(call: Call) -> Answer:
    repository = call.repository("contents:read")
    base, head = _both_ends(call, repository)
    merge_base = repository.git.merge_base(base, head)
    if merge_base is None:
        raise Refusal(404, "No common ancestor between the two commits.")
    ahead = repository.git.commits_between(base, head)
    behind = len(repository.git.commits_between(head, base))
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    files = repository.git.diff(merge_base, head)[:300]
    body: Json = {
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": behind,
        "total_commits": len(ahead),
        "base_commit": pull_json.commit(call.world, repository, repository.git.commit(base)),
        "merge_base_commit": pull_json.commit(call.world, repository, repository.git.commit(merge_base)),
        "commits": [pull_json.commit(call.world, repository, item) for item in ahead[:250]],
        "files": [pull_json.file(call.world, repository, head, file) for file in files],
    }
    return Answer(200, body)


def _both_ends(call: Call, repository: Repository) -> tuple[str, str]:
    base, dots, head = call.params["basehead"].partition("...")
    ends = [repository.git.resolve(end) for end in (base, head)] if dots else [None]
    if None in ends:
        raise not_found()
    return str(ends[0]), str(ends[1])


def compare_dependencies(call: Call) -> Answer:
    repository = call.repository("contents:read")
    if not repository.dependency_graph:
        raise Refusal(403, "Dependency review is not supported on this repository.")
    _both_ends(call, repository)
    return Answer(200, repository.dependency_changes)


def list_activities(call: Call) -> Answer:
    repository = call.repository("contents:read")
    if not repository.lists_activities:
        raise not_found()
    ref = call.query.get("ref")
    found = [each for each in reversed(repository.activities) if ref in {None, each.ref, each.ref.split("/", 2)[2]}]
    return call.cursor_page(found, lambda each: _activity(call, each), lambda each: each.id)


def _activity(call: Call, found: Activity) -> Json:
    return {
        "id": found.id,
        "node_id": f"PSH_{found.id}",
        "before": found.before,
        "after": found.after,
        "ref": found.ref,
        "timestamp": repository_json.timestamp(found.at),
        "activity_type": found.kind,
        "actor": repository_json.account(call.world, found.actor),
    }


def show_user(call: Call) -> Answer:
    account = call.world.accounts.get(call.params["login"].lower())
    if account is None:
        raise not_found()
    return Answer(200, repository_json.account(call.world, account) | {"name": account.login})


def show_myself(call: Call) -> Answer:
    token = call.caller.token
    if token is None or token.user is None:
        raise Refusal(403, "Resource not accessible by integration")
    return Answer(200, repository_json.account(call.world, token.user) | {"name": token.user.login})


def show_rate_limit(call: Call) -> Answer:
    """Asking for the limit does not count against it."""
    return Answer(200, {"resources": call.rates, "rate": call.rates.get("core", {})})


def upload_sarif(call: Call) -> Answer:
    repository = call.repository("security_events:write")
    body: Any = call.body
    if not all(body.get(key) for key in ("commit_sha", "ref", "sarif")):
        raise Refusal(422, "Invalid request.\n\ncommit_sha, ref and sarif are required.")
    repository.sarif_uploads.append(body)
    number = f"sarif-{len(repository.sarif_uploads)}"
    url = f"{call.world.api_url}/repos/{repository.full_name}/code-scanning/sarifs/{number}"
    return Answer(202, {"id": number, "url": url})


_REPO = "/repos/{owner}/{repo}"


def _ref(call: Call, repository: Repository, name: str, sha: str) -> Json:
    url = f"{call.world.api_url}/repos/{repository.full_name}/git"
    target = {"sha": sha, "type": "commit", "url": f"{url}/commits/{sha}"}
    return {"ref": name, "node_id": f"REF_{name}", "url": f"{url}/{name}", "object": target}


ROUTES = [
    Route("GET", f"{_GIT}/ref/{{ref+}}", show_ref),
    Route("GET", f"{_GIT}/matching-refs/{{ref+}}", list_matching_refs),
    Route("POST", f"{_GIT}/refs", create_ref),
    Route("PATCH", f"{_GIT}/refs/{{ref+}}", update_ref),
    Route("DELETE", f"{_GIT}/refs/{{ref+}}", delete_ref),
    Route("GET", f"{_GIT}/commits/{{sha}}", show_git_commit),
    Route("POST", f"{_GIT}/commits", create_commit),
    Route("POST", f"{_GIT}/blobs", create_blob),
    Route("POST", f"{_GIT}/trees", create_tree),
    Route("GET", f"{_GIT}/trees/{{sha}}", show_tree),
    Route("GET", f"{_GIT}/blobs/{{sha}}", show_blob),
    Route("GET", _REPO, show_repository),
    Route("GET", f"{_REPO}/contents", show_contents),
    Route("GET", f"{_REPO}/contents/", show_contents),
    Route("GET", f"{_REPO}/contents/{{path+}}", show_contents),
    Route("GET", f"{_REPO}/collaborators", list_collaborators),
    Route("GET", f"{_REPO}/collaborators/{{login}}/permission", show_permission),
    Route("GET", f"{_REPO}/activity", list_activities),
    Route("GET", f"{_REPO}/commits", list_commits),
    Route("GET", f"{_REPO}/commits/{{revision}}", show_commit),
    Route("GET", f"{_REPO}/compare/{{basehead+}}", compare),
    Route("GET", f"{_REPO}/dependency-graph/compare/{{basehead+}}", compare_dependencies),
    Route("POST", f"{_REPO}/code-scanning/sarifs", upload_sarif),
    Route("GET", "/users/{login}", show_user),
    Route("GET", "/user", show_myself),
    Route("GET", "/rate_limit", show_rate_limit),
]
