"""Makes the pull request that changes the configuration, in the name of the person who asked for it."""

from dataclasses import dataclass

from domain.commands import Sender
from domain.errors import Forbidden, Unprocessable
from domain.gates import digest
from domain.github.branches import PREFIX
from domain.github.pushes import Push, Pusher
from domain.runs.patches import ChangedFile, ChangeSet
from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from memory.deliveries import pushes
from messages.config import PATH
from messages.configuration_proposal import TITLE, render_commit_message
from messages.pushes import explain_refused_push
from pipeline.context import Services
from pipeline.publishing.publisher import NO_ID, write_for_person_once
from pipeline.publishing.pull_requests import FIX_PULL_REQUEST, PUSH, NotOpened
from pipeline.publishing.signing import sign_commits
from workspace.commits import CannotCommit
from workspace.mirror import Mirror
from workspace.push_result import Pushed, PushRejected


@dataclass(frozen=True)
class ConfigurationProposal:
    """A new version of the file that a person asks for.

    :param key: names the form that asks; sent twice, it makes one pull request.
    :param before: the file on the default branch; None: there is none.
    :param by: the person, who counts as an author of the pull request at its gates.
    """

    key: str
    before: bytes | None
    after: bytes
    by: Sender
    body: str


async def propose_once(services: Services, repository: RepositoryRef, asked: ConfigurationProposal) -> int:
    """Push a branch with the new version and propose it, once; the number of the pull request.

    :raises NotOpened: the file changed meanwhile, or GitHub does not take the branch or the pull request.
    :raises CodeAccessError: the repository's git could not be reached.
    :raises Halted: if the operator told Forge to stop.
    """
    branch = f"{PREFIX}configuration-{digest(asked.key)[:10]}"
    authorization = await services.host.git_credentials(repository)
    mirror = await services.mirrors.mirror(repository.id, services.host.clone_url(repository), authorization)

    async def find_branch() -> int | None:
        return NO_ID if await mirror.head_of(branch) is not None else None

    async def push() -> int:
        await _push(services, repository, asked, mirror, branch)
        return NO_ID

    async def find_proposal() -> int | None:
        found = await services.host.find_pull_request(repository, branch)
        return None if found is None else found.number

    async def open_proposal() -> int:
        base = (await services.host.default_branch(repository)).name
        body = redact_outgoing(asked.body)
        try:
            made = await services.host.open_pull_request(repository, branch, base, TITLE, body, draft=False)
        except (Forbidden, Unprocessable) as error:
            raise NotOpened(error.message, error.advice) from error
        return made.number

    await write_for_person_once(services, asked.key, "push", PUSH, push, find=find_branch)
    number = await write_for_person_once(
        services, asked.key, "propose", FIX_PULL_REQUEST, open_proposal, find=find_proposal
    )
    head = await mirror.head_of(branch)
    if head is not None:
        now = services.clock.now()
        await pushes.note_proposal(services.database, repository, number, head, asked.by.id, now)
    return number


async def _push(
    services: Services, repository: RepositoryRef, asked: ConfigurationProposal, mirror: Mirror, branch: str
) -> None:
    parent = await mirror.fetch_default()
    if parent is None:
        raise NotOpened("The repository has no commit yet.", "Push a first commit, and send the form again.")
    change = ChangeSet(files=(ChangedFile(path=PATH, before=asked.before, after=asked.after),))
    author = await services.host.signature(repository)
    message = render_commit_message(asked.by.login)
    try:
        sha = await mirror.commit_change(parent, change, message, author, services.clock.now())
    except CannotCommit as error:
        raise NotOpened(
            f"{PATH} is not as it was when the form was opened.", "Open the form anew, and enter the change again."
        ) from error
    sha = await sign_commits(services, repository, mirror, sha, [parent], 0)
    outcome = await mirror.push(sha, branch, None)
    # who asked for a change does not decide about it
    await pushes.note(
        services.database, repository, [Push(sha, parent, asked.by.id, Pusher.forge, services.clock.now())]
    )
    if isinstance(outcome, PushRejected):
        said = explain_refused_push(outcome.said)
        raise NotOpened(f"GitHub did not take the branch {branch}: {said}", "See the rules for branches there.")
    if not isinstance(outcome, Pushed):
        raise NotOpened(f"The branch {branch} exists already.", "Open the form anew, and send it again.")
