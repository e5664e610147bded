"""Where tests find what is logged."""

import pytest
import structlog


def test_what_is_logged_is_not_read_as_the_output_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger("forge").warning("notice.not_sent")
    printed = capsys.readouterr()
    assert (printed.out, "notice.not_sent" in printed.err) == ("", True)
