"""What a model is shown of files that a change leaves alone."""

from agents.review.model.related import find_related, render_related
from agents.review.model.rendering import WITHHELD
from domain.review.outline import Outline

CALLER = b"from till import total\n\n\ndef checkout(cart):\n    assert cart\n    return total(cart, 2) + 1\n"
HEIR = b"class Fast(Till):\n    def total(self, cart):\n        return 1\n"
SETTINGS = b"cache_ttl: 0\nother: 1\n"
JAVA = b"class A {\n  @Override\n  protected void afterRead(int n) {\n    close();\n  }\n}\n"


def whys(outline: Outline, files: dict[str, bytes], most: int = 900) -> list[tuple[str, str, int]]:
    return [(each.path, each.why, each.start) for each in find_related({"till.py": outline}, files, most=most)]


def test_users_of_what_changed_are_shown() -> None:
    found = find_related({"till.py": Outline(defined=("total",))}, {"shop.py": CALLER})
    assert "    return total(cart, 2) + 1" in found[-1].lines
    assert {(each.of, each.path, each.why) for each in found} == {("till.py", "shop.py", "uses total")}


def test_classes_that_build_on_a_changed_one_come_first() -> None:
    outline = Outline(defined=("total",), classes=("Till",))
    assert whys(outline, {"a.py": CALLER, "fast.py": HEIR})[0] == ("fast.py", "builds on Till", 1)


def test_definitions_and_settings_that_changed_lines_name_are_shown() -> None:
    outline = Outline(mentioned=("afterRead", "cache_ttl"))
    assert whys(outline, {"A.java": JAVA, "settings.yml": SETTINGS}) == [
        ("A.java", "defines afterRead", 3),
        ("settings.yml", "uses cache_ttl", 1),
    ]


def test_users_outside_of_tests_go_before_tests() -> None:
    files = {"tests/test_a.py": CALLER, "shop.py": CALLER}
    assert whys(Outline(defined=("checkout_of", "total")), files)[0][0] == "shop.py"


def test_a_name_that_stands_everywhere_says_nothing() -> None:
    files = {f"a{number}.py": CALLER for number in range(26)}
    assert whys(Outline(defined=("total",)), files) == []


def test_there_is_no_more_than_there_is_room_for() -> None:
    assert whys(Outline(defined=("total",)), {"shop.py": CALLER}, most=20) == []
    assert whys(Outline(), {"shop.py": CALLER}) == []


def test_credentials_and_hidden_characters_are_not_shown() -> None:
    body = f"MIIplanted{'A' * 54}\n" * 9
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    files = {"a.py": (key + "\u202ex = total(1)\n").encode()}
    (shown,) = render_related(find_related({"till.py": Outline(defined=("total",))}, files), str)
    assert "planted" not in shown
    assert "\u202e" not in shown
    assert shown.startswith(f"== a.py (unchanged, uses total)\n10 {WITHHELD}\n")
