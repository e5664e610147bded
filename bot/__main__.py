"""Starts the command line. Ctrl-C ends it without a traceback, even during the imports."""

import sys

from bot import interrupts


def main() -> None:
    """The entry point of ``forge``."""
    interrupts.end_at_once()
    try:
        from bot.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
