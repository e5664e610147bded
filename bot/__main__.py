"""Starts the command line. Ctrl-C ends it without a traceback, even during the imports."""

import sys


def main() -> None:
    """The entry point of ``forge``."""
    try:
        from bot.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
