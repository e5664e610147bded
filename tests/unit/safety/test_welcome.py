"""Where a repository is welcomed, and that nothing of what is in it speaks for Forge there."""

from agents.review.overview import describe_files
from domain.config.presets import build
from domain.github.installations import MOST_ISSUES, RepositoryOverview
from messages import welcome as texts
from safety.eligibility import is_flood
from tests.rendering import find_active


def test_few_that_were_chosen_are_no_flood() -> None:
    assert not is_flood(MOST_ISSUES, chosen=True)
    assert is_flood(MOST_ISSUES + 1, chosen=True)
    assert is_flood(1, chosen=False)


def test_names_of_files_are_shown_as_code_and_do_nothing() -> None:
    evil = "@everyone/<!-- forge:welcome:1 -->|](https://evil.example)`/eslint.config.js"
    tests = "tests/test_@octocat #1.py"
    seen = describe_files([evil, tests, "a.py"], {}, "main`@x", build())
    plain = texts.render_issue(RepositoryOverview(branch="main"), "")
    assert "<!-- forge:" not in texts.render_issue(seen, "")
    assert set(find_active(texts.render_issue(seen, ""))) == set(find_active(plain))
    body = texts.render_issue(seen.model_copy(update={"is_required": False}), "<!-- marker -->")
    assert body.endswith("<!-- marker -->")
    assert len(body) < 6_000
