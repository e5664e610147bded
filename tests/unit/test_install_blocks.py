"""Every block of the pages of installing is known to the script that follows them, and what it leaves has a reason."""

import pytest

from tests.install.known import BLOCKS, Way
from tests.install.page import FOLLOWED, Block, UnknownPlaceholderError, find_block, list_blocks

_FOUND = list_blocks(FOLLOWED)


def test_every_block_is_known_and_every_known_block_is_there() -> None:
    assert {(each.page, each.section, each.number) for each in _FOUND} == set(BLOCKS)


@pytest.mark.parametrize("block", _FOUND, ids=lambda block: block.name)
def test_every_placeholder_has_a_value_or_stands_for_itself(block: Block) -> None:
    known = BLOCKS[(block.page, block.section, block.number)]
    assert block.find_placeholders() == known.fills | known.keeps


def test_nobody_follows_only_what_has_a_reason() -> None:
    assert all(known.apart for known in BLOCKS.values() if known.way is Way.nobody)


def test_a_placeholder_without_a_value_is_refused() -> None:
    block = Block("page.md", "Section", 1, "sh", "forge review https://forge.example.com # FOR NOBODY\nX=$MY_KEY run\n")
    with pytest.raises(UnknownPlaceholderError, match=r"\$MY_KEY, forge\.example\.com: give it a value or keep it"):
        block.fill({})
    values = {"$MY_KEY": "7", "forge.example.com": "here"}
    assert block.fill(values) == "forge review https://here # FOR NOBODY\nX=7 run\n"


def test_a_block_that_is_gone_is_named() -> None:
    with pytest.raises(LookupError, match="no block 9 below “systemd”"):
        find_block("docs/install.md", "systemd", 9)
