"""What git says about a push is read, and never guessed."""

import pytest

from domain.errors import CodeAccessError
from workspace.commits import BranchMoved, Pushed, PushOutcome, PushRejected, parse_outcome


def _build_output(flag: str, summary: str) -> bytes:
    return f"To https://github.com/acme/app.git\n{flag}\t1a:refs/heads/x\t{summary}\nDone\n".encode()


@pytest.mark.parametrize(
    ("flag", "summary", "meant"),
    [
        (" ", "1a2b3c4..5d6e7f8", Pushed()),
        ("*", "[new branch]", Pushed()),
        ("=", "[up to date]", Pushed()),
        ("!", "[rejected] (stale info)", BranchMoved()),
        ("!", "[rejected] (fetch first)", BranchMoved()),
        ("!", "[remote rejected] (failed to update ref)", BranchMoved()),
        ("!", "[remote rejected] (cannot lock ref 'refs/heads/x': is at 1a but expected 2b)", BranchMoved()),
        ("!", "[remote rejected] (incorrect old value provided)", BranchMoved()),
        (
            "!",
            "[remote rejected] (pre-receive hook declined)",
            PushRejected("[remote rejected] (pre-receive hook declined)"),
        ),
        ("!", "[remote rejected] (protected branch hook declined)", PushRejected("GH006: Protected. Ask somebody.")),
    ],
)
def test_each_outcome_has_its_words(flag: str, summary: str, meant: PushOutcome) -> None:
    said = "remote: GH006: Protected.\nremote: \nremote: Ask somebody.\n" if "protected" in summary else "error: no\n"
    assert parse_outcome(_build_output(flag, summary), said) == meant


@pytest.mark.parametrize(
    "printed", [b"", b"Done\n", _build_output("!", "[remote failure] (remote failed to report status)")]
)
def test_without_a_word_the_outcome_is_unknown(printed: bytes) -> None:
    with pytest.raises(CodeAccessError, match="did not report"):
        parse_outcome(printed, "")
