"""The simulator itself: starts the servers, holds the state, answers a test's questions."""

from __future__ import annotations

import asyncio
import functools
import itertools
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from simulator import branch_protection, branches, check_runs, deployments, user, webhooks, workflows
from simulator.errors import Faults, RequestInfo, WriteHook
from simulator.githttp import GitServer
from simulator.gitstore import Commit, FileContent
from simulator.http import Api
from simulator.pages import Site
from simulator.registration import Registration, SignIn
from simulator.rest import apps, checks, graphql, issues, pulls, repositories
from simulator.state import (
    Account,
    App,
    BranchRules,
    CheckRun,
    CommitStatus,
    Installation,
    Issue,
    IssueComment,
    Json,
    Play,
    PullRequest,
    Repository,
    Review,
    ReviewComment,
    Role,
    Thread,
    WorkflowRun,
    World,
)
from simulator.user import User
from simulator.webhooks import Actor, Delivery, Webhooks

ROUTES = [
    *apps.ROUTES,
    *checks.ROUTES,
    *repositories.ROUTES,
    *pulls.ROUTES,
    *issues.ROUTES,
    *graphql.ROUTES,
]
_GRACE_S = 0.01  # seconds for what was accepted last
FIRST_ID = 2**32 + 1001
"""GitHub's ids of comments passed 2^31 in 2024: of ours only those fit a number of 32 bits that GraphQL says so of."""
FIRST_SMALL_ID = 1001
"""Of accounts and repositories: GraphQL's ``databaseId`` of these is an Int, of 32 bits, and has no longer form."""
PERMISSIONS = {
    "actions": "write",
    "checks": "write",
    "contents": "write",
    "deployments": "write",
    "issues": "write",
    "members": "read",
    "merge_queues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "security_events": "write",
    "statuses": "write",
}
EVENTS = [
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "repository",
    "status",
    "workflow_run",
]


def _now() -> datetime:
    return datetime.now(UTC)


@functools.cache
def generate_key() -> tuple[str, str]:
    """A private and public key in PEM, made once per process because making one is slow."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return private.decode(), _public(key)


def _public(key: rsa.RSAPrivateKey) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def public_key_of(private_key_pem: str) -> str:
    key = serialization.load_pem_private_key(private_key_pem.encode(), None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("The App's private key must be an RSA key.")
    return _public(key)


class Simulator:
    """A local GitHub with one App. Use as an async context manager.

    Args:
        data_dir: where the bare repositories are kept; a temporary directory by default.
        webhook_url: where deliveries go; may be set later.
        now: the clock of tokens, limits and timestamps.
        port: 0 takes a free one.
        ids_from: added to every first id but the App's, for a client that knew another GitHub at this address before.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        webhook_url: str | None = None,
        webhook_secret: str = "simulator-secret",
        now: Callable[[], datetime] = _now,
        *,
        port: int = 0,
        app_id: int = 424242,
        app_slug: str = "forge",
        private_key_pem: str | None = None,
        permissions: Mapping[str, str] | None = None,
        ids_from: int = 0,
    ) -> None:
        ids, of_app = itertools.count(FIRST_ID + ids_from), itertools.count(FIRST_SMALL_ID)
        self._scratch = tempfile.TemporaryDirectory(prefix="simulator-") if data_dir is None else None
        self.data_dir = Path(self._scratch.name) if self._scratch else Path(data_dir or ".").resolve()
        self.port = port
        self.hooks = Webhooks(webhook_url, webhook_secret, now, ids)
        self.app = _make_app(of_app, app_id, app_slug, private_key_pem, permissions or PERMISSIONS)
        self.hooks.app_id = app_id
        small_ids = itertools.count(next(of_app) + ids_from)
        self.world = World(self.data_dir, now, self.app, self.hooks, ids, small_ids)
        for account in (self.app.owner, self.app.bot):
            self.world.accounts[account.login.lower()] = account
        self.world.apps[app_slug] = self.app
        self.faults = Faults()
        self.api = Api(self.world, self.hooks, ROUTES, self.faults)
        self.sign_in = SignIn(self.world)
        self._users: dict[str, User] = {}
        self._runner: web.AppRunner | None = None
        self._listener: socket.socket | None = None

    async def __aenter__(self) -> Simulator:
        server = web.Application(client_max_size=0)
        server.router.add_route("*", "/api/{rest:.*}", self.api.handle)
        self.sign_in.add_routes(server.router)
        Registration(self.world, self.hooks).add_routes(server.router)
        Site(self.world).add_routes(server.router)
        server.router.add_route("*", f"{workflows.STORAGE}/{{key}}", workflows.LogStorage(self.api).handle)
        server.router.add_route("*", "/{rest:.*}", GitServer(self.api).handle)
        self._runner = web.AppRunner(server, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        await web.SockSite(self._runner, self._listener).start()
        self.port = int(self._runner.addresses[0][1])
        self.world.url = f"http://127.0.0.1:{self.port}"
        await self.hooks.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await workflows.stop(self.world)
        await self.hooks.stop()
        await self.api.lagging.stop()
        if self._listener is not None:
            # asyncio leaves open what it accepted and did not hand over yet (cpython issue 109564): accept nothing more
            asyncio.get_running_loop().remove_reader(self._listener.fileno())
            with suppress(OSError):  # not every system can shut down a listening socket
                self._listener.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(_GRACE_S)
        if self._runner is not None:
            await self._runner.cleanup()
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def url(self) -> str:
        return self.world.url

    @property
    def api_url(self) -> str:
        return self.world.api_url

    @property
    def webhook_url(self) -> str | None:
        return self.hooks.url

    @webhook_url.setter
    def webhook_url(self, url: str | None) -> None:
        self.hooks.url = url

    @property
    def deliveries(self) -> list[Delivery]:
        return self.hooks.deliveries

    @property
    def requests(self) -> list[RequestInfo]:
        return self.api.requests

    def user(self, login: str) -> User:
        """The person of that login, created on first use."""
        if login.lower() not in self._users:
            self._users[login.lower()] = User(self.world, self.world.account(login))
        return self._users[login.lower()]

    def organization(self, login: str, owners: Sequence[User] = (), members: Sequence[User] = ()) -> Account:
        account = self.world.account(login, "Organization")
        account.owners |= {user.account.id for user in owners}
        account.members |= {user.account.id for user in members}
        return account

    def create_repository(
        self,
        full_name: str,
        files: Mapping[str, FileContent] | None = None,
        commits: Sequence[Commit] | None = None,
        private: bool = False,
        default_branch: str = "main",
    ) -> Repository:
        """A repository with one commit of `files`, or with a whole history, which may be empty.

        An unknown owner is an organisation.
        """
        first = [Commit("Initial commit", files or {"README.md": "# Readme\n"})]
        history = first if commits is None else commits
        return user.create_repository(self.world, full_name, history, private, default_branch)

    def install(
        self, *repositories: Repository, permissions: Mapping[str, str] | None = None, has_all: bool = False
    ) -> Installation:
        """Install the App for the owner of these repositories, or add them to the owner's installation.

        Args:
            has_all: for all of the owner's repositories, so that nobody chose these.
        """
        return user.install(self.world, repositories, permissions, has_all)

    def token(self, installation: Installation, permissions: Mapping[str, str] | None = None) -> str:
        """An installation token without the detour over the App's own, for a test's own requests."""
        token = self.world.new_token("ghs_", timedelta(hours=1))
        token.installation, token.permissions = installation, dict(permissions or installation.permissions)
        return token.value

    def personal_token(
        self,
        user: User,
        permissions: Mapping[str, str] | None = None,
        repositories: Sequence[Repository] | None = None,
        days: int = 90,
    ) -> str:
        """A person's own token: a classic one, or with `permissions` a fine-grained one for these repositories."""
        token = self.world.new_token("github_pat_" if permissions else "ghp_", timedelta(days=days))
        token.user, token.permissions = user.account, dict(permissions or {})
        token.repository_ids = None if repositories is None else {repository.id for repository in repositories}
        return token.value

    def job_token(self, repository: Repository, permissions: Mapping[str, str]) -> str:
        """The `GITHUB_TOKEN` of a job of GitHub Actions: it acts as github-actions[bot] in one repository."""
        token = self.world.new_token("ghs_", timedelta(hours=1))
        token.app, token.permissions = self.world.other_app("github-actions"), dict(permissions)
        token.repository_ids = {repository.id}
        return token.value

    def remove_from_installation(self, repository: Repository) -> None:
        installation = self.world.installation_of(repository)
        if installation is not None:
            del installation.repositories[repository.id]
            webhooks.emit_selection(self.world, installation, repository.owner, [], [repository])

    def uninstall(self, installation: Installation) -> None:
        del self.world.installations[installation.id]
        webhooks.emit_installation(self.world, "deleted", installation, installation.account)

    def suspend(self, installation: Installation) -> None:
        installation.suspended_at = self.world.now()
        webhooks.emit_installation(self.world, "suspend", installation, installation.account)

    def unsuspend(self, installation: Installation) -> None:
        installation.suspended_at = None
        webhooks.emit_installation(self.world, "unsuspend", installation, installation.account)

    def grant(self, repository: Repository, user: User, role: Role, role_name: str | None = None) -> None:
        """Give a person a role; `role_name` names a custom role built on it."""
        repository.roles[user.account.id] = role
        repository.custom_roles.pop(user.account.id, None)
        if role_name is not None:
            repository.custom_roles[user.account.id] = role_name

    def revoke(self, repository: Repository, user: User) -> None:
        repository.roles.pop(user.account.id, None)
        repository.custom_roles.pop(user.account.id, None)

    def rename(self, repository: Repository, name: str) -> None:
        before, old_name = repository.full_name, repository.name
        repository.name = name
        self.world.old_names[before.lower()] = repository.id
        changes = {"repository": {"name": {"from": old_name}}}
        webhooks.emit(self.world, "repository", "renamed", repository, repository.owner, changes=changes)

    def transfer(self, repository: Repository, owner: str) -> None:
        user.transfer(self.world, repository, owner)

    def delete(self, repository: Repository) -> None:
        user.delete_repository(self.world, repository)

    def queue_for_merge(self, pull: PullRequest) -> str:
        """Ask for the checks of a merge queue, whether or not the base requires one; the SHA of the trial merge."""
        return branches.try_merge(self.world, pull)

    def merge_queued(self, pull: PullRequest) -> str:
        """The checks in the merge queue are green: it merges."""
        return branches.merge(self.world, pull)

    def take_out_of_queue(self, pull: PullRequest, reason: str, login: str = "github-merge-queue[bot]") -> None:
        """The merge queue drops a pull request, or somebody takes it out.

        Args:
            reason: GitHub's word, such as `CI_FAILURE` or `MANUAL`.
        """
        who = self.world.account(login, "Bot" if login.endswith("[bot]") else "User")
        branches.take_out(self.world, pull, Actor(who), reason)

    def ping(self) -> None:
        hook_id = self.hooks.hook_id
        hook = {"type": "App", "id": hook_id, "name": "web", "active": True, "app_id": self.world.app.id}
        payload: Json = {"zen": "Keep it logically awesome.", "hook_id": hook_id, "hook": hook}
        self.world.hooks.send("ping", payload, None, None)

    def report_check(
        self,
        repository: Repository,
        sha: str,
        name: str,
        conclusion: str | None,
        app: str = "github-actions",
        output: Json | None = None,
    ) -> CheckRun:
        """A check run of another App, such as the repository's own workflows.

        Args:
            output: its title, summary and annotations, as the API takes them.
        """
        reporter = self.world.other_app(app)
        body: Json = {"name": name, "head_sha": sha, "status": "completed" if conclusion else "in_progress"}
        body |= ({"conclusion": conclusion} if conclusion else {}) | ({"output": output} if output else {})
        return check_runs.create(self.world, repository, Actor(reporter.bot, reporter), body)

    def report_status(
        self, repository: Repository, sha: str, context: str, state: str, by: User | None = None
    ) -> CommitStatus:
        """A commit status, as older services give it."""
        reporter = by.actor if by else Actor(self.world.other_app("old-ci").bot)
        body = {"context": context, "state": state}
        return branch_protection.report_status(self.world, repository, reporter, sha, body)

    def protect(
        self,
        repository: Repository,
        branch: str,
        checks: Sequence[str] | Mapping[str, int | None] = (),
        approvals: int = 0,
        methods: Sequence[str] = (),
        *,
        ruleset: bool = False,
        dismisses_stale: bool = False,
        signed: bool = False,
        linear: bool = False,
        bypassed: bool = False,
        queue: bool = False,
    ) -> BranchRules:
        """Ask for checks (by name, or name and the only App that counts) and approvals before a merge.

        Args:
            methods: with a ruleset, the ways of merging it leaves.
            ruleset: a ruleset instead of branch protection; a branch may have both.
            branch: a name, or a pattern such as `forge/*`.
            signed: a push of commits without verified signatures is refused, and nothing else is.
            linear: a push of merges is refused, and nothing else is.
            bypassed: Apps need not keep to it.
            queue: what is merged goes through a merge queue.
            dismisses_stale: a push dismisses the approvals of before; otherwise GitHub goes on counting them.
        """
        named = dict(checks) if isinstance(checks, Mapping) else dict.fromkeys(checks)
        rules = BranchRules(self.world.next_id(), ruleset, named, approvals, set(methods), dismisses_stale, signed)
        rules.linear, rules.queue, rules.bypassed = linear, queue, bypassed
        repository.rules.setdefault(branch, []).append(rules)
        return rules

    def report_workflow(self, repository: Repository, sha: str, name: str, conclusion: str | None, branch: str) -> None:
        actor = self.world.other_app("github-actions").bot
        deployments.report_workflow(self.world, repository, actor, sha, branch, name, conclusion)

    def run_workflow(
        self,
        repository: Repository,
        sha: str,
        name: str,
        jobs: workflows.Jobs,
        *,
        event: str = "pull_request",
        conclusion: str | None = None,
    ) -> WorkflowRun:
        """A workflow of the repository's own on a head, with `jobs={"test": ("failure", "what it printed")}`.

        A job without a conclusion still runs; `advance_workflow` ends it. `conclusion` stands in for that of the jobs.
        """
        return workflows.run(self.world, repository, sha, name, jobs, event, conclusion)

    def advance_workflow(self, run: WorkflowRun, jobs: workflows.Jobs, conclusion: str | None = None) -> None:
        workflows.advance(self.world, run, jobs, conclusion)

    def rerun_workflow(self, run: WorkflowRun, jobs: workflows.Jobs) -> None:
        """Run it again: another attempt of the same run."""
        workflows.rerun(self.world, run, jobs)

    def on_dispatch(self, repository: Repository, workflow: str, play: Play | None) -> None:
        """What a workflow does once it is dispatched; with None its runs stay queued until `finish_run`.

        Args:
            workflow: the name of its file.
            play: from the inputs and the commit to a conclusion, None to go on running until `finish_run`. It is a
                task of the simulator's; if it raises, the run has failed.
        """
        self.world.stage.plays.pop((repository.id, workflow), None)
        if play is not None:
            self.world.stage.plays[repository.id, workflow] = play

    def finish_run(self, run: WorkflowRun, conclusion: str, log: str = "") -> None:
        """End a dispatched run with all its jobs, which printed `log`."""
        workflows.finish(self.world, run, conclusion, log)

    async def finish_plays(self) -> None:
        """Wait until what `on_dispatch` arranged is over."""
        await workflows.wait(self.world)

    def hide_dispatched_runs(self) -> None:
        """Answer a dispatch as an older GitHub does, which does not say what run it started."""
        self.world.stage.tells_run = False

    def report_deployment(self, repository: Repository, deployment_id: int, state: str, url: str = "") -> None:
        """A status another party, such as a deploy workflow, gives to a deployment."""
        deployment = next(item for item in repository.deployments if item.id == deployment_id)
        app = self.world.other_app("github-actions")
        status = {"state": state, "environment_url": url}
        deployments.add_status(self.world, deployment, Actor(app.bot, app), status)

    def check_runs(self, repository: Repository, sha: str, name: str | None = None) -> list[CheckRun]:
        return [run for run in check_runs.runs_on(self.world, repository, sha) if name in (None, run.name)]

    def reviews(self, pull: PullRequest) -> list[Review]:
        return [review for review in pull.reviews if review.state != "PENDING"]

    def comments(self, issue: Issue) -> list[IssueComment]:
        return list(issue.comments)

    def review_comments(self, pull: PullRequest) -> list[ReviewComment]:
        return pull.review_comments()

    def threads(self, pull: PullRequest) -> list[Thread]:
        return list(pull.threads)

    def writes(self) -> list[RequestInfo]:
        """The requests that changed something, oldest first."""
        return [request for request in self.requests if request.write and request.applied]

    def on_write(self, hook: WriteHook) -> Callable[[], None]:
        """Call the hook before and after the effect of every write; the answer takes it off again."""
        self.api.write_hooks.append(hook)
        return lambda: self.api.write_hooks.remove(hook)

    async def settle(self) -> None:
        await self.hooks.settle()

    async def redeliver(self, delivery: Delivery) -> Delivery:
        again = self.hooks.redeliver(delivery)
        await self.hooks.settle()
        return again

    def browse_as(self, user: User | None) -> None:
        """Who sits at the browser when the App asks for a sign-in."""
        self.sign_in.viewer = user.account if user else None

    def lag(self, seconds: float) -> None:
        """Let what the API answers lag behind its webhooks by this much; 0 ends that."""
        self.api.lagging.lag(seconds)

    def leave_out(self, optional: Mapping[str, Mapping[str, Any]]) -> None:
        """Leave out of answers and events what GitHub's description calls optional.

        :param optional: under `answers` and `events`, by route and by event with action; see `webhooks.leave_out`.
        """
        self.api.optional = optional["answers"]
        self.hooks.optional = optional["events"]

    def hold_deliveries(self) -> None:
        self.hooks.hold()

    def release_deliveries(self, *, reverse: bool = False) -> None:
        self.hooks.release(reverse=reverse)


def _make_app(
    ids: itertools.count[int], app_id: int, slug: str, private_key_pem: str | None, permissions: Mapping[str, str]
) -> App:
    kind: Literal["Bot"] = "Bot"
    bot, owner = Account(next(ids), f"{slug}[bot]", kind), Account(next(ids), "app-owner")
    private, public = (private_key_pem, public_key_of(private_key_pem)) if private_key_pem else generate_key()
    return App(
        app_id,
        slug,
        slug.title(),
        owner,
        bot,
        private,
        public,
        client_id=f"Iv23li{app_id:014d}",
        client_secret="simulated-client-secret",
        permissions=dict(permissions),
        events=list(EVENTS),
    )
