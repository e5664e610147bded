"""Reads files of a repository and changes of its dependencies from GitHub, and makes commits that GitHub signs."""

import base64
import binascii
from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

from domain.errors import Forbidden, NotFound
from domain.github.commits import CommitDraft, FileToCommit, MadeCommit
from domain.github.pull_requests import DependencyChange
from domain.runs.run import RepositoryRef
from domain.value import Value
from github.client import quote_segment, repository_path, require_same
from github.conversation import GitHubConversation
from github.errors import bad_answer
from github.payloads.parsing import RepositoryShown, parse


class FileShown(Value):
    """An entry of the contents endpoint; files above 1 MB come with encoding ``none`` and must be read as a blob."""

    type: str
    sha: str
    size: int
    encoding: str | None = None
    content: str | None = None


class GitHubContents(GitHubConversation):
    """Reads contents as an installation of the App sees them."""

    async def file_content(self, repository: RepositoryRef, path: str, ref: str | None = None) -> bytes | None:
        """A file at ``ref`` (default: the default branch); None if there is none.

        :raises NotFound: the repository itself is not visible (any more), or has no such ``ref``.
        """
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
        """GitHub's dependency comparison; None where the repository has no dependency graph."""
        purpose = f"compare the dependencies of {repository.full_name}"
        span = f"{quote_segment(base_sha)}...{quote_segment(head_sha)}"
        try:
            return await self._list(DependencyChange, repository, f"dependency-graph/compare/{span}", purpose)
        except (Forbidden, NotFound):
            await self._require_visible(repository)
            return None

    async def _bytes(self, repository: RepositoryRef, file: FileShown, purpose: str) -> bytes | None:
        if file.type != "file":  # a submodule, or a link that leads out of the repository
            return None
        if file.encoding == "base64" and file.content is not None:
            return _decode(file.content, file.size, purpose)
        blob = await self._get(BlobShown, repository, f"git/blobs/{quote_segment(file.sha)}", purpose)
        return _decode(blob.content, blob.size, purpose)

    async def _require_visible(self, repository: RepositoryRef) -> None:
        """GitHub answers 404 for absent and for hidden things, so this checks that the repository is visible.

        :param repository: its id is 0 if only its name is known.
        :raises NotFound: the repository is gone, or its name belongs to another one now.
        """
        purpose = f"see the repository {repository.full_name}"
        found = (await self._get(RepositoryShown, repository, "", purpose)).id
        require_same(repository.model_copy(update={"id": repository.id or found}), found)


def _decode(content: str, size: int, purpose: str) -> bytes:
    try:
        decoded = base64.b64decode(content)
    except (binascii.Error, ValueError):
        raise bad_answer(purpose, "content that is not base64") from None
    if len(decoded) != size:
        raise bad_answer(purpose, f"{len(decoded)} bytes of {size}")
    return decoded


_LONGEST_TEXT = 1 << 20  # bytes of a file that is sent within its tree


class _Object(Value):
    sha: str


class _Verification(Value):
    verified: bool = False


class _Commit(Value):
    sha: str
    tree: _Object
    verification: _Verification = _Verification()


class GitHubCommits(GitHubConversation):
    """Makes commits as an installation of the App.

    Without an author of its own, the App is author and committer, and GitHub signs:
    https://docs.github.com/en/authentication/managing-commit-signature-verification
    """

    async def create_commit(self, repository: RepositoryRef, draft: CommitDraft) -> MadeCommit:
        """Make a commit in the App's own name, to which nothing points yet. GitHub signs it."""
        entries: list[JsonValue] = [await self._describe_entry(repository, each) for each in draft.files]
        purpose, parents = f"commit to {repository.full_name}", list[JsonValue](draft.parents)
        wanted: JsonValue = {"base_tree": draft.onto, "tree": entries}
        tree = await self._write(_Object, repository, "POST", "git/trees", purpose, wanted)
        wanted = {"message": draft.message, "tree": tree.sha, "parents": parents}
        commit = await self._write(_Commit, repository, "POST", "git/commits", purpose, wanted)
        return MadeCommit(commit.sha, commit.tree.sha, commit.verification.verified)

    async def _describe_entry(self, repository: RepositoryRef, file: FileToCommit) -> dict[str, JsonValue]:
        entry: dict[str, JsonValue] = {"path": file.path, "mode": file.mode, "type": "blob"}
        if file.content is None:
            return {**entry, "sha": None}
        try:
            if len(file.content) <= _LONGEST_TEXT:
                return {**entry, "content": file.content.decode()}
        except UnicodeDecodeError:
            pass
        body: dict[str, JsonValue] = {"content": base64.b64encode(file.content).decode(), "encoding": "base64"}
        purpose = f"commit to {repository.full_name}"
        return {**entry, "sha": (await self._write(_Object, repository, "POST", "git/blobs", purpose, body)).sha}


class BlobShown(Value):
    encoding: Literal["base64"]
    content: str
    size: int
