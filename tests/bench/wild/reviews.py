"""Reviews merged changes of public packages through a whole Forge, and writes each as a maintainer would read it.

    python -m tests.bench.wild.reviews PLACES CLONES CHANGES OUT [--seconds 240]

The arguments are those of :mod:`tests.bench.wild.play`. GitHub is simulated and no model reads; everything else is as
people have it. ``OUT`` gets a page for each change: what GitHub shows of it, and nothing that only this module knows.
"""

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simulator import Simulator
from simulator.gitstore import CommitInfo
from simulator.state import CheckRun, PullRequest, Repository, ReviewComment
from tests.bench.wild.places import Place, find_place
from tests.bench.wild.play import WildChange
from tests.databases import create_database
from tests.stories.driver import Story, open_story
from tests.world.shared_forge import LENDER

_MERGE = re.compile(r"Merge pull request .*\n+(?=.)")
"""How GitHub begins the message of a merge, before the pull request's title."""
_HIDDEN = re.compile(r"\n*<!-- forge:.*?-->", re.DOTALL)


async def review(place: Place, clone: Path, change: WildChange) -> str:
    """The page of one change, after Forge came to rest."""
    with tempfile.TemporaryDirectory() as name:
        folder, url = Path(name), create_database("sqlite", Path(name))
        async with open_story(url, folder, sandbox_tools=place.reads) as story:
            pull = await _propose(story, place, clone, change)
            await story.settle()
            story.pass_over(pull)
            return _HIDDEN.sub("", "\n\n".join(_write_page(story.github, pull, change))) + "\n"


async def _propose(story: Story, place: Place, clone: Path, change: WildChange) -> PullRequest:
    """A pull request that makes of the tree before the change the one after it, both with the place's settings."""
    repository = story.github.create_repository(change.package, commits=())
    (repository.git.path / "objects" / "info" / "alternates").write_text(f"{clone.resolve() / 'objects'}\n")
    told = repository.git.commit(change.head)
    base = _commit(repository, place, change.base, change.base, repository.git.commit(change.base))
    repository.git.set_ref("refs/heads/main", base)
    story.github.install(repository)
    author = story.github.user("author")
    story.github.grant(repository, author, "write")
    story.github.grant(repository, story.github.user("maintainer"), "admin")
    await author.reset_branch(repository, "change", _commit(repository, place, change.head, base, told))
    title, _, body = _MERGE.sub("", told.message.strip()).partition("\n")
    return await author.open_pull_request(repository, "change", title=title, body=body.strip() or None)


def _commit(repository: Repository, place: Place, tree: str, parent: str, told: CommitInfo) -> str:
    """A commit of the tree of another one, with its author and message."""
    git, entries = repository.git, ""
    if place.setup is not None:
        settings = f"commands:\n  setup: {json.dumps(place.setup)}\n"
        entries = f"100644 {git.write_blob(settings.encode())}\t.github/forge.yml\0"
    author = f"{told.author_name} <{told.author_email}>"
    return git.commit_tree(git.write_tree(tree, entries), [parent], told.message, author, told.author_date)


def _write_page(github: Simulator, pull: PullRequest, change: WildChange) -> Iterator[str]:
    yield f"# {change.package} {change.head}"
    yield f"Pull request: **{pull.title}**"
    if pull.body:
        yield pull.body
    for check in sorted(github.check_runs(pull.repository, pull.head_sha), key=lambda each: each.id):
        yield from _write_check(check)
    for said in github.reviews(pull):
        yield f"## Review by {said.user.login}: {said.state}\n\n{said.body}"
    for comment in github.review_comments(pull):
        yield f"## Comment of {comment.user.login} on {_locate(comment)}\n\n{comment.body}"
    for comment in github.comments(pull):
        yield f"## Comment of {comment.user.login}\n\n{comment.body}"


def _write_check(check: CheckRun) -> Iterator[str]:
    yield f"## Check {check.name}: {check.conclusion or check.status}"
    yield from (part for part in (check.title and f"**{check.title}**", check.summary, check.text) if part)
    if check.actions:
        yield f"Buttons: {', '.join(action['label'] for action in check.actions)}"
    yield from map(_write_annotation, check.annotations)


def _write_annotation(said: dict[str, Any]) -> str:
    where = f"{said['path']}:{said['start_line']}-{said['end_line']}"
    return f"Annotation ({said['annotation_level']}) on {where}: **{said['title']}**\n{said['message']}"


def _locate(comment: ReviewComment) -> str:
    lines = [str(each) for each in (comment.start_line, comment.line) if each is not None]
    return ":".join([comment.path, *(["-".join(lines)] if lines else [])])


async def _review_all(places: Path, clones: Path, changes: Sequence[WildChange], out: Path, most: float) -> list[str]:
    """The names of those of which there is no page."""
    failed: list[str] = []
    for number, change in enumerate(changes, start=1):
        since, name, said = time.monotonic(), change.package.replace("/", "+"), ""
        page = out / f"{number:02}-{name.partition('+')[2]}-{change.head[:8]}.md"
        try:
            async with asyncio.timeout(most):
                page.write_text(await review(find_place(places, change.package), clones / f"{name}.git", change))
        except Exception as error:
            said = f"{error!r}"[:500]
            failed.append(f"{page.stem}: {said}")
        print(f"{page.stem} {time.monotonic() - since:.0f} s {said}", flush=True)
    await LENDER.close()
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("places", "clones", "changes", "out"):
        parser.add_argument(argument, type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    given = parser.parse_args()
    changes = [WildChange.model_validate(json.loads(line)) for line in given.changes.read_text().splitlines()]
    given.out.mkdir(parents=True, exist_ok=True)
    failed = asyncio.run(_review_all(given.places, given.clones, changes, given.out, given.seconds))
    print(f"{len(changes) - len(failed)} of {len(changes)} have a page", *failed, sep="\n# ")


if __name__ == "__main__":
    main()
