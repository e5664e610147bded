"""What every serving process does at its start: limits, and signals that end it."""

import asyncio
import resource
import signal

_OPEN_FILES = 65_536
"""How many files the process may have open, if its hard limit allows. Pausing an agent takes one for each process."""


def raise_open_files() -> None:
    """Raise the soft limit of open files, which is often 1,024, as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def stop_signal() -> asyncio.Event:
    """An event that the first SIGTERM or SIGINT sets."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
