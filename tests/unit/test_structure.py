"""What the measure of the source's structure finds, and what it leaves alone."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.journeys import JOURNEYS, find_broken_steps
from tests.structure import (
    ROOT,
    Source,
    find_dead_references,
    find_homonyms,
    find_json_answers,
    find_rooms,
    find_test_imports,
    find_unknown_threats,
    find_untested_threats,
    is_participle,
)


def write(folder: Path, files: Mapping[str, str]) -> Source:
    """The source of a package ``shop`` and of a ``simulator``."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Source(folder, ["shop", "simulator"])


@pytest.mark.parametrize("name", ["posted", "_reviewed_files", "held_back", "_told", "reading", "_missing_checks"])
def test_participles_are_counted(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize(
    "name",
    ["post", "need_help", "_feed", "embed", "finding", "nothing_left", "is_held", "has_ended"],
)
def test_verbs_nouns_and_booleans_are_not(name: str) -> None:
    assert not is_participle(name)


def test_methods_and_nested_functions_are_functions_but_not_those_python_names(tmp_path: Path) -> None:
    text = "class Till:\n    def __init__(self): ...\n    async def open(self):\n        def count(): ...\n"

    assert {function.name for function in write(tmp_path, {"shop/till.py": text}).functions} == {"open", "count"}


def test_each_module_of_ours_is_counted_once(tmp_path: Path) -> None:
    text = "import os\nimport shop.till\nfrom shop.till import a, b\nfrom simulator import c\nfrom typing import Any\n"
    rooms = "from shop import till, bell, SIGN\n"

    source = write(tmp_path, {"shop/door.py": text, "shop/hall.py": rooms, "shop/till.py": "", "shop/bell.py": ""})
    imports = source.imports(["shop", "simulator"])

    assert imports["shop/door.py"] == {"shop.till", "simulator"}
    assert imports["shop/hall.py"] == {"shop.till", "shop.bell", "shop"}


def test_classes_of_two_modules_share_a_name_unless_private_or_simulated(tmp_path: Path) -> None:
    both = "class Price: ...\nclass _Row: ...\n"
    order = "class Order: ...\n"
    files = {"shop/a.py": both, "shop/b.py": both + order, "simulator/c.py": order}

    source = write(tmp_path, files)

    assert find_homonyms(source) == {"Price": ["shop/a.py", "shop/b.py"]}


def test_modules_imported_from_their_package_are_counted_one_by_one(tmp_path: Path) -> None:
    files = {"shop/door.py": "from shop import bell, till, NAME\n", "shop/bell.py": "", "shop/till.py": ""}

    assert write(tmp_path, files).imports(["shop"])["shop/door.py"] == {"shop", "shop.bell", "shop.till"}


def test_an_answer_of_any_json_is_found_but_not_a_list_of_it(tmp_path: Path) -> None:
    text = "def a() -> JsonValue: ...\ndef b() -> JsonValue | None: ...\ndef c() -> list[JsonValue]: ...\n"

    assert [function.name for function in find_json_answers(write(tmp_path, {"shop/a.py": text}))] == ["a", "b"]


def test_rooms_are_modules_and_folders(tmp_path: Path) -> None:
    names = ["__init__.py", "door.py", "till/__init__.py", "till/keys.py"]

    write(tmp_path, {f"shop/{name}": "" for name in names})

    assert find_rooms(tmp_path / "shop") == ["door", "till"]


def test_an_import_of_a_test_module_is_found_even_within_a_function() -> None:
    text = "from tests.world.issues import plan\n\ndef test_a() -> None:\n    from tests.stories.test_b import C\n"

    assert find_test_imports({"tests/test_a.py": text}) == ["tests/test_a.py: tests.stories.test_b"]


def test_pages_and_links_that_do_not_exist_are_found() -> None:
    missing, link = "docs/" + "nowhere.md", "there/" + "not.md"
    page = f"[a]({link}#part) [b](docs/security.md#sandbox) [c](https://example.org/d.md) [d](#here)"

    dead = find_dead_references(ROOT, {"bot/a.py": f"See {missing} and docs/security.md.", "page.md": page})

    assert dead == [f"bot/a.py: {missing}", f"page.md: {link}"]


def test_threats_have_a_row() -> None:
    unknown = "T-W" + "99"

    found = find_unknown_threats("| T-W1 | a webhook |", {"a.py": f"T-W1, {unknown} and T-shirts"})

    assert found == [f"a.py: {unknown}"]


def test_threats_have_a_test() -> None:
    page = "- **T-W1** no signature\n- **T-W2** a changed body\n"

    found = find_untested_threats(page, ["def test_t_w1_no_signature():", "def test_g1_a_write_fails():"])

    assert found == ["T-G1", "T-W2"]


def test_steps_of_journeys_lead_somewhere(tmp_path: Path) -> None:
    assert find_broken_steps(ROOT) == []
    assert len(find_broken_steps(tmp_path)) == sum(map(len, JOURNEYS.values()))
