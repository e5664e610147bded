"""Git over HTTP: `git http-backend` behind GitHub's rules of access."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from simulator import access, branches
from simulator.access import Caller
from simulator.errors import Dropped, Fault, Refusal, RequestInfo
from simulator.gitstore import NO_COMMIT, git_environment
from simulator.http import Api, cut
from simulator.state import BranchRules, Repository

PATH = re.compile(r"/([^/]+/[^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)")
_DENIED = {401: "Invalid username or token.", 403: "Write access to repository not granted.", 404: "Not found."}
# GitHub refuses an App without the `workflows` permission that touches its workflows.
_HOOK = """#!/bin/sh
set -f
commands=$(cat)
has_unsigned() {
    touch signed
    while read -r old new ref; do
        git rev-list "$new" --not --all | grep -qvxFf signed && return 0
    done
    return 1
}
has_merge() {
    while read -r old new ref; do
        [ -n "$(git rev-list --merges "$new" --not --all)" ] && return 0
    done
    return 1
}
for ref in $SIMULATOR_PROTECTED; do
    if echo "$commands" | grep -q " $ref$"; then
        echo "error: GH006: Protected branch update failed for $ref." >&2
        exit 1
    fi
done
for ref in $SIMULATOR_SIGNED; do
    if echo "$commands" | grep " $ref$" | has_unsigned; then
        echo "error: GH013: Repository rule violations found for $ref." >&2
        echo "- Commits must have verified signatures." >&2
        exit 1
    fi
done
for ref in $SIMULATOR_SIGNED_PROTECTED; do
    if echo "$commands" | grep " $ref$" | has_unsigned; then
        echo "error: GH006: Protected branch update failed for $ref." >&2
        echo "error: Commits must have verified signatures." >&2
        exit 1
    fi
done
for ref in $SIMULATOR_LINEAR; do
    if echo "$commands" | grep " $ref$" | has_merge; then
        echo "error: GH013: Repository rule violations found for $ref." >&2
        echo "- This branch must not contain merge commits." >&2
        exit 1
    fi
done
[ -n "$SIMULATOR_MAY_WRITE_WORKFLOWS" ] && exit 0
echo "$commands" | while read -r old new ref; do
    case "$new" in *[!0]*) ;; *) continue ;; esac
    # Commits that are there already, such as those of the branch a new one begins at, change nothing.
    file=$(git rev-list "$new" --not --all | git diff-tree --stdin --root -m -r --name-only --no-commit-id \
        -- .github/workflows | head -n 1)
    if [ -n "$file" ]; then
        echo "refusing to allow a GitHub App to create or update workflow '$file' without 'workflows' permission" >&2
        exit 1
    fi
done
"""


@dataclass
class GitServer:
    api: Api

    async def handle(self, request: web.Request) -> web.StreamResponse:
        found = PATH.fullmatch(request.path)
        if found is None:
            return web.Response(status=404, text="Not Found")
        service = request.query.get("service", "") if found[2] == "info/refs" else found[2]
        info = self._record(request, writing=found[2] == "git-receive-pack")
        fault = self.api.faults.take(request.method, request.path)
        try:
            repository, caller = self._authorise(request, found[1], service)
        except Refusal as refusal:
            return _refuse(refusal, info)
        info.actor = caller.name if caller else "anonymous"
        if fault is not None:
            early = await _early(request, fault)
            if early is not None:
                return early
        try:
            answer = await self._serve(request, repository, caller, found[2], info)
        except Dropped:
            return cut(request)
        if fault is not None and fault.kind in ("after", "reset"):
            return cut(request) if fault.kind == "reset" else web.Response(status=fault.status)
        return answer

    def _record(self, request: web.Request, writing: bool) -> RequestInfo:
        info = RequestInfo(self.api.world.now(), request.method, request.path, dict(request.query), None)
        info.write = writing
        self.api.requests.append(info)
        return info

    def _authorise(self, request: web.Request, name: str, service: str) -> tuple[Repository, Caller | None]:
        world, header = self.api.world, request.headers.get("Authorization")
        repository = world.repository(name) or world.repositories.get(world.old_names.get(name.lower(), 0))
        writing = service == "git-receive-pack"
        if header is None:
            # An unknown or private repository asks for a password, so as not to tell which it is.
            if repository is None or repository.private or writing:
                raise Refusal(401, _DENIED[401])
            return repository, None
        caller = access.authenticate(world, header)
        if repository is None or (repository.private and not caller.reaches(repository)):
            raise Refusal(404, "Repository not found.")
        needed = "contents:write" if writing else "contents:read"
        public_read = not repository.private and not writing
        if not public_read and not (caller.reaches(repository) and caller.holds(needed)):
            raise Refusal(403, _DENIED[403])
        if caller.token and caller.token.user and writing and not repository.allows(caller.token.user, "write"):
            raise Refusal(403, _DENIED[403])
        return repository, caller

    async def _serve(
        self, request: web.Request, repository: Repository, caller: Caller | None, rest: str, info: RequestInfo
    ) -> web.Response:
        body = await request.read()
        if not info.write:
            return await _backend(request, repository, rest, body, caller)
        for hook in self.api.write_hooks:
            await hook(info, "before")
        before = repository.git.refs()
        answer = await _backend(request, repository, rest, body, caller)
        self._announce(repository, caller, before)
        info.applied, info.status = repository.git.refs() != before, answer.status
        for hook in self.api.write_hooks:
            await hook(info, "after")
        return answer

    def _announce(self, repository: Repository, caller: Caller | None, before: dict[str, str]) -> None:
        """Tell the world which branches the push has moved."""
        after = repository.git.refs()
        if caller is None:
            return
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name, NO_COMMIT), after.get(name, NO_COMMIT)
            branch = name.removeprefix("refs/heads/")
            branches.follow_branch(self.api.world, repository, caller.actor.account, branch, old, new)


async def _early(request: web.Request, fault: Fault) -> web.Response | None:
    if fault.kind == "slow":
        await asyncio.sleep(fault.delay)
    if fault.kind == "reset_before":
        return cut(request)
    return web.Response(status=fault.status, headers=dict(fault.headers)) if fault.kind == "before" else None


def _refuse(refusal: Refusal, info: RequestInfo) -> web.Response:
    info.status = refusal.status
    headers = {"WWW-Authenticate": 'Basic realm="GitHub"'} if refusal.status == 401 else {}
    return web.Response(status=refusal.status, text=str(refusal.body["message"]), headers=headers)


def _environment(request: web.Request, repository: Repository, rest: str, caller: Caller | None) -> dict[str, str]:
    store = repository.git.path
    workflows = caller is not None and (caller.kind == "user" or caller.holds("workflows:write"))
    return {
        **git_environment(),
        "GIT_PROJECT_ROOT": str(store.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{store.name}/{rest}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.query_string,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": caller.name if caller else "",
        "REMOTE_ADDR": request.remote or "",
        # What is protected changes by pull requests alone.
        "SIMULATOR_PROTECTED": _list_refs(repository, lambda rule: not (rule.signed or rule.linear)),
        "SIMULATOR_SIGNED": _list_refs(repository, lambda rule: rule.ruleset and rule.binds_signatures),
        "SIMULATOR_SIGNED_PROTECTED": _list_refs(repository, lambda rule: not rule.ruleset and rule.binds_signatures),
        "SIMULATOR_LINEAR": _list_refs(repository, lambda rule: rule.linear and not rule.bypassed),
        "SIMULATOR_MAY_WRITE_WORKFLOWS": "1" if workflows else "",
    }


def _list_refs(repository: Repository, has: Callable[[BranchRules], bool]) -> str:
    """The branches with such a rule, as patterns of `grep`."""
    found = (name.replace("*", ".*") for name, rules in repository.rules.items() if any(map(has, rules)))
    return " ".join(f"refs/heads/{name}" for name in found)


async def _backend(
    request: web.Request, repository: Repository, rest: str, body: bytes, caller: Caller | None
) -> web.Response:
    """Run the CGI program. aiohttp has already unpacked a gzip body, so its length is given, not its encoding."""
    if rest == "git-receive-pack":
        _ensure_hook(repository)
    environment = _environment(request, repository, rest, caller) | {"CONTENT_LENGTH": str(len(body))}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "git", "http-backend", stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    )
    out, _ = await process.communicate(body)
    head, _, content = out.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    return web.Response(status=status, headers=headers, body=content)


def _ensure_hook(repository: Repository) -> None:
    hook = repository.git.path / "hooks" / "pre-receive"
    if not hook.exists():
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK)
        hook.chmod(0o755)
