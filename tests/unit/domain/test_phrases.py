"""Lists of what Forge names stay short."""

from domain.text.phrases import name_some
from messages.deliveries import describe_rewritten


def test_a_list_names_a_few_and_counts_the_rest() -> None:
    assert name_some("abc", 3) == "a, b, c"
    assert name_some("abcd", 3) == "a, b, c and 1 more"
    assert describe_rewritten(range(1, 400)).endswith("9, 10 and 389 more")
