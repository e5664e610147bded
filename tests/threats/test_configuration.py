"""Attacks through ``.github/forge.yml``: pull requests that change it, and content made to hurt its reader."""

import time

import pytest

from domain.config.configuration import Configuration
from domain.config.values import MAX_MISTAKES
from memory.repositories import configurations
from pipeline.config.parsing import parse
from pipeline.config.yaml import MAX_BYTES
from tests.stories.driver import Story

BROKEN = "import os\n\n\ndef main():\n    return missing\n"
OFF = "review: {on_pull_request: false}\n"
UNBOUNDED = "review: {on_pull_request: false}\npreset: aggressive\nbudgets: {day: 100000}\nladder: {pinned: 4}\n"


async def test_t_f2_a_fork_cannot_configure_its_own_review(story: Story) -> None:
    """A fork's pull request that edits the configuration is reviewed by the one on the default branch."""
    repository, _ = story.repository({"app.py": "import os\n\nprint(os.name)\n"})
    bob = story.github.user("bob")
    fork = await bob.fork(repository)
    head = await bob.push(fork, "feature", {"app.py": BROKEN, ".github/forge.yml": UNBOUNDED}, base="main")
    pull = await bob.open_pull_request(repository, "feature", head_repo=fork)
    await story.settle()

    check = story.check(repository, head)
    assert check.conclusion not in {"success", None}
    assert "switched off" not in (check.summary or "")
    assert story.comments(pull)


async def test_t_f2_a_branch_of_the_repository_cannot_either(story: Story) -> None:
    """Nor does a branch of somebody who may write: only the default branch counts, also for the last valid version."""
    repository, alice = story.repository({"app.py": "print(1)\n", ".github/forge.yml": "review: {bots: []}\n"})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN, ".github/forge.yml": UNBOUNDED})

    assert story.check(repository, head).conclusion == "failure"
    assert story.comments(pull)
    scopes = [f"repository {repository.id}", f"organisation {(await story.runs())[0].installation_id}"]
    kept = [
        await configurations.find_last_valid(
            story.forge.services.database, configurations.ConfigurationScope(scope, 0, False)
        )
        for scope in scopes
    ]
    assert [None if one is None else one.values for one in kept] == [{"review": {"bots": []}}, None]


async def test_a_file_that_broke_changes_nothing(story: Story) -> None:
    """A broken file on the default branch is put aside: what it said before holds, and the check says so."""
    repository, alice = story.repository({"app.py": "print(1)\n", ".github/forge.yml": OFF})
    _, first = await story.propose(repository, alice, {"app.py": BROKEN}, "one")
    assert "switched off" in (story.check(repository, first).summary or "")

    await alice.push(repository, "main", {".github/forge.yml": "review: {on_pull_request: true\n"})
    _, second = await story.propose(repository, alice, {"app.py": BROKEN + "\n"}, "two")
    summary = story.check(repository, second).summary or ""
    assert "switched off" in summary
    assert "its last valid version" in summary


@pytest.mark.parametrize(
    "files", [{".github/forge.yml": OFF}, {"README.md": "Nothing here.\n"}], ids=["file", "no file"]
)
async def test_the_organisations_file_is_asked_for(story: Story, files: dict[str, str]) -> None:
    """The ``.github`` repository of the owner gives the default, and its silence gives none."""
    story.github.install(story.github.create_repository("octo-org/.github", files=files))
    repository, alice = story.repository({"app.py": "print(1)\n"})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})
    assert ("switched off" in (story.check(repository, head).summary or "")) == (".github/forge.yml" in files)
    assert bool(story.comments(pull)) == (".github/forge.yml" not in files)


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + below] * 9)}]\n" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(LAUGHS, "has an anchor", id="billion laughs"),
        pytest.param("review: &a {paths: *a}\n", "is an alias", id="refers to itself"),
        pytest.param("x: &x {drafts: true}\nreview: {<<: *x}\n", "merge key", id="merge key"),
        pytest.param("review: {<<: [{drafts: true}]}\n", "merge key", id="merge list"),
        pytest.param("&a review: {drafts: true}\n", "a key with an anchor", id="anchor on a key"),
        pytest.param("[" * 30_000, "nested more than", id="deep lists"),
        pytest.param("{a: " * 10_000, "nested more than", id="deep sections"),
        pytest.param("- " * 30_000, "nested more than", id="deep blocks"),
        pytest.param("? " * 30_000, "nested more than", id="deep keys"),
        pytest.param("# " + "x" * MAX_BYTES, "larger than 64 KB", id="huge"),
        pytest.param("review: {bots: [" + "a, " * 20_000 + "]}", "more than 5,000 values", id="many values"),
        pytest.param("a: !!python/object/apply:os.system [id]\n", "has a tag", id="python object"),
        pytest.param("!!python/name:os.system review: {}\n", "a key with an anchor or a tag", id="tag on a key"),
        pytest.param(
            "%TAG ! tag:yaml.org,2002:python/\n---\na: !name:os.system x\n", "has a tag", id="tag by a handle"
        ),
        pytest.param("labels: {run: !!binary Zm9yZ2U=}\n", "has a tag", id="binary"),
        pytest.param(
            "review: {drafts: true}\nreview: {drafts: false}\n", "a second time; the first is in line 1", id="twice"
        ),
        pytest.param("review:\n\tdrafts: true\n", "a tab cannot indent", id="tab"),
        pytest.param("review: {drafts: true}\n---\nreview: {}\n", "second document", id="documents"),
        pytest.param(b"labels: {run: \xff}\n", "not in UTF-8", id="not UTF-8"),
        pytest.param("review: {}\n".encode("utf-16"), "not in UTF-8", id="UTF-16"),
        pytest.param("labels: {run: a\0b}\n", "not valid YAML", id="NUL"),
        pytest.param('labels: {run: "a\\0b"}\n', "control character", id="escaped NUL"),
        pytest.param('labels: {run: "\\ud800"}\n', "half of a character", id="surrogate"),
        pytest.param('labels: {run: "\\UFFFFFFFF"}\n', "not valid YAML", id="no such character"),
        pytest.param("review: {drafts: yes}\n", "is `yes`, which is text in YAML 1.2", id="yes"),
        pytest.param("%YAML 1.1\n---\nreview: {drafts: on}\n", "is `on`, which is text", id="on, by a directive"),
        pytest.param("review: {drafts: 'true'}\n", "is the text `true`", id="boolean as text"),
        pytest.param("review: {max_comments: '3'}\n", "is the text `3`", id="number as text"),
        pytest.param("review: {max_comments: true}\n", "is `true`", id="boolean as number"),
        pytest.param("budgets: {day: .inf}\n", "is `Infinity`", id="endless budget"),
        pytest.param("budgets: {day: .nan}\n", "is `NaN`", id="budget that is no number"),
        pytest.param("budgets: {day: 1e400}\n", "is `Infinity`", id="overflow"),
        pytest.param("review: {max_comments: " + "9" * 5000 + "}\n", "is `", id="endless number"),
        pytest.param("labels: {run: 2020-01-01T00:00:00Z}\nreview: {drafts: 2020-01-01}\n", "2020-01-01", id="date"),
        pytest.param("[review]: {}\n", "a key that is not text", id="list as key"),
        pytest.param("- review\n", "is a list", id="list"),
        pytest.param("review\n", "is the text", id="text"),
    ],
)
def test_content_made_to_hurt_is_a_mistake(content: str | bytes, said: str) -> None:
    """Each ends as a mistake with a place, at once, and nothing of it is constructed, expanded or taken for a value."""
    raw = content if isinstance(content, bytes) else content.encode()
    started = time.process_time()
    parsed = parse(raw)
    assert time.process_time() - started < 10
    assert parsed.configuration is None
    assert 1 <= len(parsed.mistakes) <= MAX_MISTAKES
    assert any(said in mistake.what for mistake in parsed.mistakes)
    assert all(1 <= mistake.line <= raw.count(b"\n") + 1 and mistake.column >= 1 for mistake in parsed.mistakes)
    assert all(len(mistake.sentence) < 1000 for mistake in parsed.mistakes)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbfreview: {drafts: true}\n", id="byte order mark"),
        pytest.param(b"review:\r\n  drafts: true\r\n", id="CRLF"),
        pytest.param(b"%YAML 1.1\n---\nreview: {drafts: true}\n...\n", id="directive"),
        pytest.param(b'"review": {? drafts : true}\n', id="quoted and explicit keys"),
        pytest.param(b"review:\n  drafts: true # yes\n  bots:\n    # none yet\n", id="comments"),
    ],
)
def test_unusual_but_right_content_is_understood(content: bytes) -> None:
    """What people's editors do to a file is no mistake."""
    parsed = parse(content)
    assert parsed.mistakes == ()
    expected = Configuration.model_validate({"review": {"drafts": True}})
    assert parsed.configuration == expected


def test_lines_are_counted_as_github_counts_them() -> None:
    """Line breaks that only YAML 1.1 knows do not move an annotation."""
    content = "# a\x85# b\u2028# c\r\n\r\nreview: {drafts: 1}\r\n"
    [mistake] = parse(content.encode()).mistakes
    assert (mistake.line, mistake.column) == (3, 18)
