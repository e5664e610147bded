"""GitHub as the domain's ``CodeHost``: each method is one question or one effect."""

import asyncio
import base64
import binascii
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from pydantic import JsonValue

from bot.github.checks import batches, creation_body, find_missing, require_valid, update_body
from bot.github.client import Client, Stop, never_stop, quote_segment, repository_path, require_same
from bot.github.deliveries import GitHubDeliveries
from bot.github.errors import bad_answer
from bot.github.issues import GitHubIssues
from bot.github.limits import LimitStore
from bot.github.pacing import Budget, Sleep
from bot.github.payloads.accounts import Created, RepositoryShown
from bot.github.payloads.apps import AppShown, HookShown, InstallationShown
from bot.github.payloads.checks import AnnotatedShown, AnnotationShown, CheckRunShown
from bot.github.payloads.contents import BlobShown, DependencyShown, FileShown
from bot.github.payloads.parsing import parse, parse_all
from bot.github.payloads.permissions import ROLES, CollaboratorShown, PermissionShown
from bot.github.payloads.pulls import ListedPull
from bot.github.pull_requests import GitHubPullRequests
from bot.github.settings import GitHubSettings
from bot.github.workflow_runs import GitHubActions
from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.checks import Annotation, CheckRun, CheckRunRef
from domain.github.commits import Signature
from domain.github.dependencies import DependencyChange
from domain.github.pull_requests import DraftReview, InlineComment, PullRequest
from domain.ports import Clock, CodeHost
from domain.runs.run import RepositoryRef


class GitHubHost(GitHubPullRequests, GitHubIssues, GitHubActions, CodeHost):
    """Speaks to GitHub for all installations of the App.

    :param limits: where GitHub's orders to wait are kept across restarts.
    :param sleep: waits the given seconds; another one in tests.
    :param stop: asked right before every write; raises when none may be made any more.
    :param budget: counts the writes of each installation; None: those of this process only.
    """

    def __init__(
        self,
        settings: GitHubSettings,
        clock: Clock,
        limits: LimitStore,
        sleep: Sleep = asyncio.sleep,
        stop: Stop = never_stop,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(Client(settings, clock, limits, sleep, stop, budget))
        self._settings = settings
        self.deliveries = GitHubDeliveries(self._client, settings.api_url)

    async def aclose(self) -> None:
        """Close the connections; the host cannot be used afterwards."""
        await self._client.aclose()

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequest:
        return (await self.read_pull(repository, number)).to_domain()

    async def open_pull_requests(self, repository: RepositoryRef, head_sha: str) -> Sequence[PullRequest]:
        """Asks for the commit's pull requests first; GitHub leaves forks out there, so all open ones come second."""
        numbers = await self._numbers_by_commit(repository, head_sha) or await self._numbers_by_scan(
            repository, head_sha
        )
        pulls = [await self.pull_request(repository, number) for number in numbers]
        return [pull for pull in pulls if pull.is_open and pull.head_sha == head_sha]

    async def file_content(self, repository: RepositoryRef, path: str, ref: str | None = None) -> bytes | None:
        """:raises NotFound: the repository itself is not visible (any more), or has no such ``ref``."""
        purpose = f"read {path} of {repository.full_name}"
        address = f"{repository_path(repository)}/contents/{'/'.join(map(quote_segment, path.split('/')))}"
        query = {"ref": ref} if ref is not None else None
        try:
            data = await self._client.get(repository.installation_id, address, purpose, query)
        except NotFound as error:
            if "no commit found" in error.message.lower():
                raise
            await self._require_visible(repository)
            return None
        if isinstance(data, list):  # a folder
            return None
        return await self._bytes(repository, parse(FileShown, data, purpose), purpose)

    async def dependency_changes(
        self, repository: RepositoryRef, base_sha: str, head_sha: str
    ) -> Sequence[DependencyChange] | None:
        purpose = f"compare the dependencies of {repository.full_name}"
        span = f"{quote_segment(base_sha)}...{quote_segment(head_sha)}"
        address = f"{repository_path(repository)}/dependency-graph/compare/{span}"
        try:
            items = await self._client.items(repository.installation_id, address, purpose)
        except (Forbidden, NotFound):
            await self._require_visible(repository)
            return None
        return [item.to_domain() for item in parse_all(DependencyShown, items, purpose)]

    async def find_check_run(self, repository: RepositoryRef, head_sha: str, external_id: str) -> CheckRunRef | None:
        purpose = f"look for a check run on {head_sha[:7]} of {repository.full_name}"
        items = await self._client.items(
            repository.installation_id,
            f"{repository_path(repository)}/commits/{quote_segment(head_sha)}/check-runs",
            purpose,
            {"filter": "all", "app_id": self._settings.app_id},
            key="check_runs",
        )
        runs = [one.to_domain() for one in parse_all(CheckRunShown, items, purpose)]
        ours = [one for one in runs if one.external_id == external_id and one.head_sha == head_sha]
        return max(ours, key=lambda one: one.id, default=None)

    async def create_check_run(self, repository: RepositoryRef, check: CheckRun) -> CheckRunRef:
        """Annotations beyond the first 50 follow as updates.

        If one of these fails the check run exists: whoever finds it by its ``external_id`` and updates it
        adds only what is missing.
        """
        require_valid(check)
        purpose = f"create the check run “{check.name}” on {check.head_sha[:7]} of {repository.full_name}"
        first, *others = batches(check.annotations)
        data = await self._client.write(
            repository.installation_id,
            "POST",
            f"{repository_path(repository)}/check-runs",
            purpose,
            creation_body(check, first),
        )
        ref = parse(CheckRunShown, data, purpose).to_domain()
        for batch in others:
            ref = await self._show(repository, ref.id, check, batch)
        return ref

    async def update_check_run(self, repository: RepositoryRef, check_id: int, check: CheckRun) -> CheckRunRef:
        """Sends only the annotations the check run does not show yet, so it may be repeated after a crash."""
        require_valid(check)
        missing = check.annotations
        if missing:
            missing = find_missing(missing, await self._annotations(repository, check_id))
        first, *others = batches(missing)
        ref = await self._show(repository, check_id, check, first)
        for batch in others:
            ref = await self._show(repository, check_id, check, batch)
        return ref

    async def find_review(self, repository: RepositoryRef, number: int, marker: str) -> int | None:
        found = await self.own_reviews(repository, number, marker)
        return found[0].id if found else None

    async def create_review(self, repository: RepositoryRef, number: int, review: DraftReview) -> int:
        purpose = f"post the review on {repository.full_name}#{number}"
        body: JsonValue = {
            "commit_id": review.head_sha,
            "event": "COMMENT",
            "body": review.body,
            "comments": [_comment(comment) for comment in review.comments],
        }
        address = f"{repository_path(repository)}/pulls/{number}/reviews"
        data = await self._client.write(repository.installation_id, "POST", address, purpose, body)
        return parse(Created, data, purpose).id

    async def permission(self, repository: RepositoryRef, login: str, account_id: int) -> str:
        purpose = f"read the permission of {login} on {repository.full_name}"
        address = f"{repository_path(repository)}/collaborators/{quote_segment(login)}/permission"
        try:
            data = await self._client.get(repository.installation_id, address, purpose)
        except NotFound:  # no such account (any more), if the repository is still there
            await self._require_visible(repository)
            return "none"
        return parse(PermissionShown, data, purpose).role(account_id)

    async def accounts_with(self, repository: RepositoryRef, role: str) -> Collection[int]:
        """:raises ValueError: there is no such role, or none is needed for it."""
        if role not in ROLES[1:]:
            raise ValueError(f"{role!r} is no role that people are given.")
        purpose = f"list the people with the role {role} on {repository.full_name}"
        address = f"{repository_path(repository)}/collaborators"
        items = await self._client.items(repository.installation_id, address, purpose, {"affiliation": "all"})
        listed = parse_all(CollaboratorShown, items, purpose)
        await self._require_visible(repository)
        return {one.id for one in listed if one.is_person and one.has(role)}

    def clone_url(self, repository: RepositoryRef) -> str:
        return f"{self._settings.web_url}/{quote_segment(repository.owner)}/{quote_segment(repository.name)}.git"

    async def address(self, repository: RepositoryRef) -> RepositoryRef:
        home = await self.home(repository)
        return repository.model_copy(update={"owner": home.owner.login, "name": home.name})

    async def repository_ids(self, installation_id: int) -> Collection[int]:
        purpose = f"list the repositories of installation {installation_id}"
        items = await self._client.items(installation_id, "installation/repositories", purpose, key="repositories")
        return {item.id for item in parse_all(RepositoryShown, items, purpose)}

    async def git_credentials(self, repository: RepositoryRef) -> str:
        token = await self._client.tokens.get(repository.installation_id)
        return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()

    async def signature(self, repository: RepositoryRef) -> Signature:
        """GitHub's own address of the account: https://docs.github.com/account-and-profile/reference/email-addresses-reference"""
        bot = await self.own_account(repository)
        host = urlsplit(self._settings.web_url).hostname
        return Signature(name=bot.login, email=f"{bot.id}+{bot.login}@users.noreply.{host}")

    async def _numbers_by_commit(self, repository: RepositoryRef, head_sha: str) -> list[int]:
        purpose = f"find the pull requests of {head_sha[:7]} in {repository.full_name}"
        address = f"{repository_path(repository)}/commits/{quote_segment(head_sha)}/pulls"
        try:
            items = await self._client.items(repository.installation_id, address, purpose)
        except (NotFound, Unprocessable):  # the commit is known in the fork only
            return []
        return _open_with_head(items, head_sha, purpose)

    async def _numbers_by_scan(self, repository: RepositoryRef, head_sha: str) -> list[int]:
        purpose = f"list the open pull requests of {repository.full_name}"
        address = f"{repository_path(repository)}/pulls"
        items = await self._client.items(repository.installation_id, address, purpose, {"state": "open"})
        return _open_with_head(items, head_sha, purpose)

    async def _bytes(self, repository: RepositoryRef, file: FileShown, purpose: str) -> bytes | None:
        if file.type != "file":  # a submodule, or a link that leads out of the repository
            return None
        if file.encoding == "base64" and file.content is not None:
            return _decode(file.content, file.size, purpose)
        address = f"{repository_path(repository)}/git/blobs/{quote_segment(file.sha)}"
        blob = parse(BlobShown, await self._client.get(repository.installation_id, address, purpose), purpose)
        return _decode(blob.content, blob.size, purpose)

    async def _show(
        self, repository: RepositoryRef, check_id: int, check: CheckRun, annotations: Sequence[Annotation]
    ) -> CheckRunRef:
        purpose = f"update the check run “{check.name}” on {check.head_sha[:7]} of {repository.full_name}"
        address = f"{repository_path(repository)}/check-runs/{check_id}"
        body = update_body(check, annotations)
        data = await self._client.write(repository.installation_id, "PATCH", address, purpose, body)
        return parse(CheckRunShown, data, purpose).to_domain()

    async def _annotations(self, repository: RepositoryRef, check_id: int) -> list[AnnotationShown]:
        """The annotations that a check run shows; GitHub's own count tells whether the list is whole.

        A check run that was just made may not be shown yet, and then has none. If it is gone, the write says so.
        """
        purpose = f"read the annotations of a check run of {repository.full_name}"
        address = f"{repository_path(repository)}/check-runs/{check_id}"
        try:
            found = await self._client.get(repository.installation_id, address, purpose)
        except NotFound:
            return []
        count = parse(AnnotatedShown, found, purpose).output.annotations_count
        if count == 0:
            return []
        items = await self._client.items(repository.installation_id, f"{address}/annotations", purpose)
        if len(items) < count:
            raise bad_answer(purpose, f"{len(items)} items of {count}")
        return parse_all(AnnotationShown, items, purpose)

    async def examine_app(self, needed: Mapping[str, str]) -> tuple[str, list[str]]:
        """The App's slug, and which of the needed permissions (name → level) it does not have.

        :raises CodeHostError: GitHub does not know the App, or its key.
        """
        purpose = "ask GitHub about the App"
        app = parse(AppShown, await self._client.get_as_app("app", purpose), purpose)
        levels = ("none", "read", "write", "admin")
        short = [
            f"{name}: {level}"
            for name, level in needed.items()
            if levels.index(app.permissions.get(name, "none")) < levels.index(level)
        ]
        return app.slug, short

    async def hook(self) -> HookShown:
        """Where GitHub delivers the App's webhooks.

        :raises CodeHostError: GitHub does not say.
        """
        purpose = "ask GitHub about the App's webhook"
        return parse(HookShown, await self._client.get_as_app("app/hook/config", purpose), purpose)

    async def list_installations(self) -> tuple[list[str], bool]:
        """The accounts where the App is installed and not suspended, at most 100, and whether there are more.

        :raises CodeHostError: GitHub does not say.
        """
        purpose = "ask GitHub where the App is installed"
        page, following = await self._client.page_as_app("app/installations", purpose, {"per_page": 100})
        if not isinstance(page, list):
            raise bad_answer(purpose, "a page that is no list")
        found = parse_all(InstallationShown, page, purpose)  # pyright: ignore[reportUnknownArgumentType]
        active = [each.account.login for each in found if each.account is not None and each.suspended_at is None]
        return active, following is not None

    async def _require_visible(self, repository: RepositoryRef) -> None:
        """GitHub answers 404 both for what is absent and for what is hidden: absence counts only in sight.

        :param repository: its id is 0 where only its name is known.
        :raises NotFound: the repository is gone, or its name belongs to another one now.
        """
        purpose = f"see the repository {repository.full_name}"
        data = await self._client.get(repository.installation_id, repository_path(repository), purpose)
        found = parse(RepositoryShown, data, purpose).id
        require_same(repository.model_copy(update={"id": repository.id or found}), found)


def _open_with_head(items: list[object], head_sha: str, purpose: str) -> list[int]:
    pulls = parse_all(ListedPull, items, purpose)
    return [pull.number for pull in pulls if pull.state == "open" and pull.head.sha == head_sha]


def _decode(content: str, size: int, purpose: str) -> bytes:
    try:
        decoded = base64.b64decode(content)
    except (binascii.Error, ValueError):
        raise bad_answer(purpose, "content that is not base64") from None
    if len(decoded) != size:
        raise bad_answer(purpose, f"{len(decoded)} bytes of {size}")
    return decoded


def _comment(comment: InlineComment) -> JsonValue:
    """A review comment; GitHub refuses a range of one line, so that is sent as a line."""
    body: dict[str, JsonValue] = {
        "path": comment.path,
        "line": comment.line,
        "side": "RIGHT",
        "body": comment.body,
    }
    if comment.start_line < comment.line:
        body |= {"start_line": comment.start_line, "start_side": "RIGHT"}
    return body
