"""Structured logs on standard error, for people or as JSON lines. Everything is redacted before it is written."""

import logging
import sys
import threading
import traceback
from collections.abc import Mapping, MutableMapping
from types import TracebackType
from typing import Any, cast

from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing


def configure(log_format: str, level: int = logging.INFO) -> None:
    """Set up logging for the process, and redact what Python prints of its own.

    :param log_format: ``console`` or ``json``.
    """
    import structlog  # slow to import: a review on this machine has nothing to log

    redact_python()
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact_event,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def redact_python() -> None:
    """Redact what the standard library logs, and what Python prints of its own: warnings, and errors nobody caught."""
    logging.setLogRecordFactory(Record)
    logging.raiseExceptions = False  # a handler that fails would print the arguments as they are
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    logging.captureWarnings(True)
    sys.excepthook = print_uncaught
    sys.unraisablehook = _print_unraisable
    threading.excepthook = _print_uncaught_in_thread


def redact_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor that redacts every value of a line, nested ones and exceptions included."""
    return {_redact(key): _safe(value) for key, value in event.items()}


class Record(logging.LogRecord):
    """A log record of the standard library, redacted for every handler, because libraries bring their own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.exc_info and self.exc_info[0] is not None:
            self.exc_text = _redact("".join(traceback.format_exception(*self.exc_info)).rstrip())
        if self.stack_info:
            self.stack_info = _redact(self.stack_info)

    def getMessage(self) -> str:  # noqa: N802  # the standard library's name
        return _redact(super().getMessage())


def _safe(value: object) -> object:
    """The value with its texts redacted. Anything but text and numbers becomes its ``repr``, as it would be written."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _redact(value)
    if isinstance(value, Mapping):
        return {_redact(str(key)): _safe(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_safe(item) for item in cast("list[object]", value)]
    return _redact(repr(value))


def _redact(text: str) -> str:
    return redact_outgoing(strip_invisible(text))


def print_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception as Python would, redacted; also used as ``sys.excepthook``."""
    sys.stderr.write(_redact("".join(traceback.format_exception(kind, error, trace))))


def _print_uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is not SystemExit:
        value = args.exc_value or args.exc_type()
        print_uncaught(args.exc_type, value, args.exc_traceback)


def _print_unraisable(args: "sys.UnraisableHookArgs") -> None:
    """Print what was raised where nobody can catch it, as in ``__del__``; an object's own ``repr`` may raise, too."""
    value = args.exc_value or args.exc_type()
    said = "".join(traceback.format_exception(args.exc_type, value, args.exc_traceback))
    where = "" if args.object is None else f" in {object.__repr__(args.object)}"
    sys.stderr.write(_redact(f"{args.err_msg or 'Exception ignored'}{where}\n{said}"))
