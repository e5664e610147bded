"""Descriptions that are put together of a template, a person's words and drafted sections."""

from domain.text.description import choose_template, compose, is_template, keep_open, strip_marks

TEMPLATE = "## What\n<!-- why? -->\nPlease say why.\n\n## Checks\n- [ ] a test\n"


def test_a_section_without_a_word_is_left_as_it_is() -> None:
    assert compose(TEMPLATE, TEMPLATE, {}) == "## What\n\n<!-- why? -->\nPlease say why.\n\n## Checks\n\n- [ ] a test"
    assert (
        strip_marks(compose(TEMPLATE, "", {"what": "It adds."})) == "## What\n\nIt adds.\n\n## Checks\n\n- [ ] a test"
    )


def test_what_a_person_wrote_stays_and_what_forge_wrote_is_replaced() -> None:
    body = "Hello.\n\n## what ##\nMine.\n```\n## Checks\n```\n\n## Checks\n- [x] a test\n\n"
    body += "## Own\nMore.\n\n## Own\nStill.\n"
    first = compose(TEMPLATE, body, {"what": "It adds.", "unknown": "No."})
    assert strip_marks(first) == (
        "Hello.\n\n## what ##\n\nMine.\n```\n## Checks\n```\n\nIt adds.\n\n## Checks\n\n- [x] a test\n\n"
        "## Own\n\nMore.\n\n## Own\n\nStill."
    )
    assert compose(TEMPLATE, first, {"what": "It adds."}) == first
    assert "It adds." not in compose(TEMPLATE, first, {"what": "It takes."})


def test_the_template_is_the_one_that_was_begun_with() -> None:
    templates = {
        ".github/PULL_REQUEST_TEMPLATE/fix.md": "## Cause\n",
        ".github/PULL_REQUEST_TEMPLATE/new.md": "## Use\n",
    }
    assert all(map(is_template, [*templates, "docs/pull_request_template.md"]))
    assert not is_template("src/pull_request_template.md")
    assert choose_template(templates, "## use\n") == "## Use\n"
    assert choose_template(templates, "") == "## Cause\n"
    assert choose_template({}, "") == ""


def test_only_what_was_closed_is_closed() -> None:
    assert keep_open("Fixes #1, closes: #2, see #3", {2}) == "Fixes issue #1, closes: #2, see #3"
