"""Which configuration holds: the file, its last valid version, the organisation's, or a preset."""

import asyncio
import json

import pytest

from domain.config.configuration import Configuration, Preset
from domain.config.presets import build
from domain.config.sections import ReadMode
from domain.errors import CodeHostError, Forbidden, NotFound, Unauthorized, Unavailable
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.repositories import configurations
from pipeline.config.loading import list_stored, load, load_stored
from pipeline.config.parsing import LoadedConfiguration, Source, load_from_checkout, parse
from tests.unit.configuration.files import SHOP, Files

BROKEN = "review: {drafts: perhaps}\n"


async def test_no_file_means_standard(database: Database) -> None:
    host = Files()
    assert await load(host, database, SHOP) == LoadedConfiguration(Configuration(), Source.preset)
    assert host.asked == [("acme/shop", None), ("acme/.github", None)]  # of the default branch, nothing else


class Together(Files):
    """Answers only once both files were asked for: each answer of GitHub takes a while."""

    def __init__(self) -> None:
        super().__init__(shop="review: {drafts: true}\n")
        self._both = asyncio.Event()

    async def file_content(self, repository: RepositoryRef, path: str, ref: str | None = None) -> bytes | None:
        answer = await super().file_content(repository, path, ref)
        if len(self.asked) > 1:
            self._both.set()
        await asyncio.wait_for(self._both.wait(), 5)
        return answer


async def test_both_files_are_asked_for_at_once(database: Database) -> None:
    assert (await load(Together(), database, SHOP)).configuration.review.drafts


async def test_the_file_holds(database: Database) -> None:
    loaded = await load(Files(shop="review: {drafts: true}\n"), database, SHOP)
    assert loaded.configuration.review.drafts
    assert (loaded.source, loaded.problem) == (Source.repository, None)


async def test_the_last_valid_version_holds_while_the_file_is_broken(database: Database) -> None:
    host = Files(shop="budgets: {day: 7}\n")
    await load(host, database, SHOP)
    host.files["shop"] = "budgets: {day: 8}\n"
    await load(host, database, SHOP)
    for broken in (BROKEN, "budgets: [", "a: !!python/object/apply:os.system [id]\n", "\t"):
        host.files["shop"] = broken
        loaded = await load(host, database, SHOP)
        assert loaded.configuration.budgets.day == 8
        assert loaded.source is Source.last_valid
    host.files["shop"] = BROKEN
    problem = (await load(host, database, SHOP)).problem
    assert problem is not None
    assert problem.startswith(
        "`.github/forge.yml` on the default branch is not used, Forge uses its last valid version ("
    )
    assert problem.endswith("). Line 1: `review.drafts` is the text `perhaps`.")

    host.files["shop"] = "budgets: {day: 9}\n"
    mended = await load(host, database, SHOP)
    assert (mended.configuration.budgets.day, mended.problem) == (9, None)


async def test_never_valid_means_conservative(database: Database) -> None:
    loaded = await load(Files(shop=BROKEN), database, SHOP)
    assert loaded.configuration == build({"preset": "conservative"})
    assert loaded.problem is not None
    assert "no version was ever valid" in loaded.problem


async def test_a_deleted_file_means_standard_and_is_not_remembered(database: Database) -> None:
    host = Files(shop="budgets: {day: 7}\n")
    await load(host, database, SHOP)
    host.files["shop"] = None
    assert (await load(host, database, SHOP)).configuration == Configuration()
    host.files["shop"] = BROKEN
    assert (await load(host, database, SHOP)).configuration.preset is Preset.conservative


async def test_an_empty_file_is_a_valid_one(database: Database) -> None:
    host = Files(shop="")
    await load(host, database, SHOP)
    host.files["shop"] = BROKEN
    assert (await load(host, database, SHOP)).configuration == Configuration()


async def test_a_last_valid_version_that_is_not_valid_any_more_counts_as_none(database: Database) -> None:
    await configurations.keep(database, configurations.of_repository(SHOP), "a" * 40, {"gone": 1})
    assert (await load(Files(shop=BROKEN), database, SHOP)).configuration.preset is Preset.conservative


STRICT = """\
review: {model: never, never_send: ["{secrets/,keys/**}", "*.pem", 7, "a["]}
paths: {protected: [infra/]}
labels: {run: null}
issues: {run: false}
budgets: {day: 7}
"""


def is_protected(configuration: Configuration) -> bool:
    never_send, protected = configuration.review.never_send, configuration.paths.protected
    assert (never_send, protected) == (("secrets/**", "keys/**", "*.pem"), ("infra/**",))
    assert (configuration.labels.run, configuration.issues.run) == (None, False)
    return configuration.review.model is ReadMode.never


async def test_what_protects_in_a_broken_file_holds_all_the_same(database: Database) -> None:
    host = Files(shop=STRICT)
    loaded = await load(host, database, SHOP)
    assert is_protected(loaded.configuration)
    assert (loaded.source, loaded.configuration.preset) == (Source.preset, Preset.conservative)
    assert loaded.problem is not None
    assert loaded.problem.endswith(
        "Its prohibitions and protections still apply, as far as Forge can read them: "
        '`review.model: "never"`, `labels.run: null`, `issues.run: false`, `review.never_send` (3 patterns), '
        "`paths.protected` (1 pattern)."
    )
    assert is_protected(load_from_checkout(STRICT.encode()).configuration)
    assert is_protected((await load(Files(github=STRICT), database, SHOP)).configuration)


async def test_what_a_stored_version_protects_holds_although_rules_became_stricter(database: Database) -> None:
    values = parse(STRICT.encode()).values
    await configurations.keep(database, configurations.of_repository(SHOP), "a" * 40, values)
    assert is_protected((await load(Files(shop=BROKEN), database, SHOP)).configuration)
    assert is_protected(await load_stored(database, SHOP))


async def test_stored_configurations_are_those_of_their_repositories(database: Database) -> None:
    """Each over its organisation's, in the order that was asked for."""
    stranger = RepositoryRef(installation_id=8, id=43, owner="others", name="shop")
    sibling = SHOP.model_copy(update={"id": 44, "name": "depot"})
    await load(Files(shop="review: {drafts: true}\n", github="review: {max_comments: 3}\n"), database, SHOP)
    await load(Files(shop="review: {max_comments: 4}\n"), database, stranger)
    found = await list_stored(database, [stranger, SHOP, sibling])
    assert [each.review.max_comments for each in found] == [4, 3, 3]
    assert [each.review.drafts for each in found] == [False, True, False]
    assert await list_stored(database, []) == []


async def test_what_a_broken_file_protects_is_added_to_the_last_valid_version(database: Database) -> None:
    host = Files(shop="review: {never_send: [a]}\nbudgets: {day: 7}\n")
    await load(host, database, SHOP)
    host.files["shop"] = "review: {never_send: [b], model: 0, drafts: perhaps}\n"
    held = (await load(host, database, SHOP)).configuration
    assert (held.review.never_send, held.budgets.day, held.review.model) == (("a", "b"), 7, ReadMode.auto)


async def test_what_protects_stays_within_its_bounds(database: Database) -> None:
    many = [f"{'x' * 197}/{number}/" for number in range(3)] + [f"secret{number}" for number in range(300)]
    loaded = await load(Files(shop=f"review: {{never_send: {json.dumps(many)}}}\n"), database, SHOP)
    assert len(loaded.configuration.review.never_send) == 197


async def test_what_was_kept_is_its_new_owners_and_stays_until_they_leave(database: Database) -> None:
    moved = SHOP.model_copy(update={"installation_id": 8, "owner": "mill"})
    host, scope = Files(shop="budgets: {day: 7}\n"), configurations.of_repository(moved)
    await load(host, database, SHOP)
    await configurations.purge(database, 7, None, kept=[SHOP.id])  # it ran there before its file was read there
    assert await configurations.find_last_valid(database, scope) is not None
    await load(host, database, moved)
    await configurations.purge(database, 7)
    assert await configurations.find_last_valid(database, scope) is not None
    await configurations.purge(database, 8)
    assert await configurations.find_last_valid(database, scope) is None


async def test_the_organisations_file_lies_below(database: Database) -> None:
    host = Files(github="budgets: {day: 7, run: 3}\nreview: {bots: [a]}\n", shop="budgets: {run: 4}\n")
    loaded = await load(host, database, SHOP)
    assert (loaded.configuration.budgets.day, loaded.configuration.budgets.run) == (7, 4)
    assert loaded.configuration.review.bots == ("a",)
    assert loaded.source is Source.repository
    assert loaded.below["budgets"] == {"day": 7, "run": 3}

    host.files["shop"] = None
    alone = await load(host, database, SHOP)
    assert (alone.configuration.budgets.run, alone.source) == (3, Source.organisation)


async def test_the_organisations_last_valid_version_holds_for_all_its_repositories(database: Database) -> None:
    host = Files(github="budgets: {day: 7}\n")
    await load(host, database, SHOP)
    host.files["github"] = BROKEN
    other = SHOP.model_copy(update={"id": 43, "name": "other"})
    loaded = await load(host, database, other)
    assert loaded.configuration.budgets.day == 7
    assert loaded.problem is not None
    assert loaded.problem.startswith("`.github/forge.yml` of the organisation's `.github` repository is not used")


async def test_an_organisations_file_that_was_never_valid_means_conservative_below(database: Database) -> None:
    host = Files(github=BROKEN)
    assert (await load(host, database, SHOP)).configuration.budgets.day == 100
    host.files["shop"] = "preset: standard\n"
    assert (await load(host, database, SHOP)).configuration.budgets.day == 200


async def test_a_broken_file_over_an_organisations_stays_conservative(database: Database) -> None:
    loaded = await load(Files(github="budgets: {day: 999, run: 1}\n", shop=BROKEN), database, SHOP)
    assert (loaded.configuration.budgets.day, loaded.configuration.budgets.run) == (100, 1)


@pytest.mark.parametrize("refusal", [NotFound("no"), Forbidden("no")])
async def test_an_organisations_file_out_of_reach_is_none(database: Database, refusal: CodeHostError) -> None:
    assert (await load(Files(github=refusal), database, SHOP)).configuration == Configuration()


@pytest.mark.parametrize("refusal", [NotFound("no"), Forbidden("no")])
async def test_what_an_organisation_said_holds_while_its_file_is_out_of_reach(
    database: Database, refusal: CodeHostError
) -> None:
    host = Files(github="review: {never_send: ['billing/**']}\nladder: {max_level: 1}\n")
    await load(host, database, SHOP)
    host.files["github"] = refusal
    for _ in range(2):
        loaded = await load(host, database, SHOP)
        held = loaded.configuration
        assert (held.review.never_send, held.ladder.max_level) == (("billing/**",), 1)
        assert loaded.problem is not None
        assert (
            "cannot be read: GitHub hides that repository from Forge, so Forge uses its last valid version ("
            in loaded.problem
        )
    host.files["github"] = None  # it is there, and the file is not
    lifted = await load(host, database, SHOP)
    assert (lifted.configuration, lifted.problem) == (Configuration(), None)
    host.files["github"] = refusal
    assert (await load(host, database, SHOP)).problem is None


async def test_the_organisations_own_repository_forgets_nothing(database: Database) -> None:
    host = Files(github="ladder: {max_level: 1}\n")
    await load(host, database, SHOP)
    await load(host, database, SHOP.model_copy(update={"name": ".github", "id": 43}))
    host.files["github"] = "ladder: ["
    assert (await load(host, database, SHOP)).configuration.ladder.max_level == 1


async def test_the_organisations_own_repository_is_read_once(database: Database) -> None:
    host = Files(github="budgets: {day: 7}\n")
    special = SHOP.model_copy(update={"name": ".github"})
    assert (await load(host, database, special)).source is Source.repository
    assert host.asked == [("acme/.github", None)]


@pytest.mark.parametrize("place", ["shop", "github"])
@pytest.mark.parametrize("error", [Unavailable("502"), Unauthorized("401")])
async def test_what_github_does_not_answer_is_never_no_file(
    database: Database, place: str, error: CodeHostError
) -> None:
    host = Files(shop="budgets: {day: 7}\n", github="budgets: {day: 6}\n")
    await load(host, database, SHOP)
    kept = host.files[place]
    host.files[place] = error
    with pytest.raises(type(error)):
        await load(host, database, SHOP)
    host.files[place] = kept
    assert (await load(host, database, SHOP)).configuration.budgets.day == 7


@pytest.mark.parametrize("error", [NotFound("gone"), Forbidden("suspended")])
async def test_a_repository_out_of_reach_is_an_error(database: Database, error: CodeHostError) -> None:
    with pytest.raises(type(error)):
        await load(Files(shop=error), database, SHOP)


async def test_ceilings_hold_for_every_source(database: Database) -> None:
    for file in ("budgets: {day: 500}\n", BROKEN, None):
        loaded = await load(Files(shop=file), database, SHOP, {"budgets.day": 50})
        assert loaded.configuration.budgets.day == 50


async def test_repositories_and_installations_are_told_apart(database: Database) -> None:
    await load(Files(shop="budgets: {day: 7}\n"), database, SHOP)
    other = SHOP.model_copy(update={"id": 43})
    assert (await load(Files(shop=BROKEN), database, other)).configuration.budgets.day == 100

    await configurations.purge(database, SHOP.installation_id)
    assert await configurations.find_last_valid(database, configurations.of_repository(SHOP)) is None


async def test_the_version_is_known_by_its_blob_sha(database: Database) -> None:
    await load(Files(shop="# hello\n"), database, SHOP)
    last = await configurations.find_last_valid(database, configurations.of_repository(SHOP))
    assert last is not None
    assert last.sha == "8954bb97349bfe2a7799e6a7a64c6f747c635d6c"  # as git hash-object has it


def test_a_checkout_has_no_history() -> None:
    assert load_from_checkout(None) == LoadedConfiguration(Configuration(), Source.preset)
    assert load_from_checkout(b"budgets: {day: 7}\n").configuration.budgets.day == 7
    broken = load_from_checkout(BROKEN.encode())
    assert broken.configuration.preset is Preset.conservative
    assert broken.problem is not None
