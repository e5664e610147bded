"""Git's own objects over REST: references, commits, trees and blobs."""

from __future__ import annotations

import base64

from simulator import branches
from simulator.errors import Refusal, malformed, not_found
from simulator.gitstore import NO_COMMIT
from simulator.http import Answer, Call, Route
from simulator.json import pulls as pull_json
from simulator.state import Json, Repository


def _ref(call: Call, repository: Repository, name: str, sha: str) -> Json:
    url = f"{call.world.api_url}/repos/{repository.full_name}/git"
    target = {"sha": sha, "type": "commit", "url": f"{url}/commits/{sha}"}
    return {"ref": name, "node_id": f"REF_{name}", "url": f"{url}/{name}", "object": target}


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


def show_commit(call: Call) -> Answer:
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
ROUTES = [
    Route("GET", f"{_GIT}/ref/{{ref+}}", show_ref),
    Route("GET", f"{_GIT}/matching-refs/{{ref+}}", list_matching_refs),
    Route("POST", f"{_GIT}/refs", create_ref),
    Route("PATCH", f"{_GIT}/refs/{{ref+}}", update_ref),
    Route("DELETE", f"{_GIT}/refs/{{ref+}}", delete_ref),
    Route("GET", f"{_GIT}/commits/{{sha}}", show_commit),
    Route("POST", f"{_GIT}/commits", create_commit),
    Route("POST", f"{_GIT}/blobs", create_blob),
    Route("POST", f"{_GIT}/trees", create_tree),
    Route("GET", f"{_GIT}/trees/{{sha}}", show_tree),
    Route("GET", f"{_GIT}/blobs/{{sha}}", show_blob),
]
