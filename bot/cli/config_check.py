"""`forge config check`: shows what `Forge / config` would say about a file, before it is pushed."""

from pathlib import Path

from bot.cli.output import output
from domain.config.values import Mistake, count_in_words
from domain.errors import ConfigurationError
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from messages.config import explain_misplaced
from pipeline.config.check import is_misplaced
from pipeline.config.parsing import parse


def check(file: Path) -> bool:
    """Print each mistake in a configuration file on its own line, and return whether the file is valid.

    :raises ConfigurationError: if the file cannot be read.
    """
    try:
        parsed = parse(file.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be read: {error.strerror}.", "Name a configuration file, such as .github/forge.yml."
        ) from None
    lines = [_line(file, "error", mistake) for mistake in parsed.mistakes]
    lines += [_line(file, "warning", idle) for idle in parsed.idle]
    if is_misplaced(f".github/{file.name}"):
        lines.append(f"{file}: warning: {explain_misplaced(file.name)}")
    lines.append(f"{file}: {count_in_words(parsed.mistakes)}" if parsed.mistakes else f"{file} is valid")
    with output() as console:
        for line in lines:
            console.out(redact_outgoing(strip_invisible(line)), highlight=False)
    return not parsed.mistakes


def _line(file: Path, level: str, mistake: Mistake) -> str:
    return f"{file}:{mistake.line}:{mistake.column}: {level}: {mistake.sentence}"
