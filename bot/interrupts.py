"""Lets Ctrl-C end the process at once while it imports, where Python may print an interrupt and then drop it."""

import signal


def end_at_once() -> None:
    """Let an interrupt end the process without a word; unless who started it has interrupts ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Let an interrupt raise KeyboardInterrupt again, so that work that began cleans up after itself."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
