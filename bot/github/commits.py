"""Makes commits through GitHub's API, which signs what an App commits in its own name."""

import base64

from pydantic import BaseModel, JsonValue

from bot.github.client import repository_path
from bot.github.conversation import GitHubConversation
from bot.github.payloads.parsing import parse
from domain.github.commits import CommitDraft, FileToCommit, MadeCommit
from domain.runs.run import RepositoryRef

_LONGEST_TEXT = 1 << 20  # bytes of a file that is sent within its tree


class _Object(BaseModel):
    sha: str


class _Verification(BaseModel):
    verified: bool = False


class _Commit(BaseModel):
    sha: str
    tree: _Object
    verification: _Verification = _Verification()


class GitHubCommits(GitHubConversation):
    """Makes commits as an installation of the App.

    Without an author of its own, the App is author and committer, and GitHub signs:
    https://docs.github.com/en/authentication/managing-commit-signature-verification
    """

    async def create_commit(self, repository: RepositoryRef, draft: CommitDraft) -> MadeCommit:
        entries: list[JsonValue] = [await self._describe_entry(repository, each) for each in draft.files]
        tree = await self._make(repository, "trees", {"base_tree": draft.onto, "tree": entries})
        sha, parents = parse(_Object, tree, _purpose(repository)).sha, list[JsonValue](draft.parents)
        made = await self._make(repository, "commits", {"message": draft.message, "tree": sha, "parents": parents})
        commit = parse(_Commit, made, _purpose(repository))
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
        return {**entry, "sha": parse(_Object, await self._make(repository, "blobs", body), _purpose(repository)).sha}

    async def _make(self, repository: RepositoryRef, kind: str, body: dict[str, JsonValue]) -> object:
        address = f"{repository_path(repository)}/git/{kind}"
        return await self._client.write(repository.installation_id, "POST", address, _purpose(repository), body)


def _purpose(repository: RepositoryRef) -> str:
    return f"commit to {repository.full_name}"
