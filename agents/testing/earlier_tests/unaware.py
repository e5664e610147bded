"""Makes a program blind to whether a test runs it, where a change has it ask: so tests see what users get."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from agents.testing.earlier_tests.choice import Entry
from agents.testing.earlier_tests.outcomes import SharedChange
from agents.testing.earlier_tests.reading import Reader, is_of_program
from domain.paths import is_source
from workspace.commits import write_blob
from workspace.git import Git

_ABSENT = r"ABSENT_\g<0>"
_VARIABLE = re.compile(
    r"(?<![\w.])(?:PYTEST_\w+|JEST_WORKER_ID|VITEST(?:_\w+)?|MOCHA_\w+|NODE_TEST_CONTEXT|_*PHPUNIT_\w+)\b"
    r"|(?<=env\.)(?:JEST_WORKER_ID|VITEST\w*|MOCHA_\w+|NODE_TEST_CONTEXT|CI)\b"
    r"|(?<=[\"'])(?:CI|GITHUB_ACTIONS)(?=[\"'])|(?<=\$)CI\b|(?<=\$\{)CI\b|(?<=\$\{)BATS_\w+(?=[:+-])"
    r"|(?<=-[nzv] \"\$)BATS_\w+|(?<=-[nzv] \"\$\{)BATS_\w+|(?<=-v )BATS_\w+"
    r"|(?<=typeof )(?:describe|it|test|expect|jest|vi|mocha)\b"
    r"|(?<=global\.)(?:describe|it|test|expect|jest|vi)\b|(?<=globalThis\.)(?:describe|it|test|expect|jest|vi)\b"
)
_FRAMEWORK = re.compile(r"\b(?:PHPUnit|RSpec|Mini[Tt]est|Test::Unit)\b")
_IS_DEFINED = re.compile(r"\bdefined\?|\b(?:const_)?defined\b|\b(?:class|interface)_exists\b")
_ASKS_AROUND = re.compile(
    r"environ|getenv|\benv\b|\bENV\b|_ENV\b|sys\.modules|argv|\bos\.Args\b|[sS]tack|\bcaller|backtrace|\.Caller|"
    r"flag\.Lookup|require\.(?:main|cache)|process\.title|find_spec|\$0|PROGRAM_NAME|sys\.executable|import\.meta"
)
_TEXT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|(?<=[(=~, ])/(?! )[^/\n]+/")
_RUNNER = re.compile(
    r"(?<![A-Za-z])(?:r?spec|(?:py|mini|unit|vi|go)?test(?:ing|s)?|jest|mocha|phpunit|bats)(?![A-Za-z])", re.IGNORECASE
)
_KEPT = re.compile(r"\s*(?:(?:import|from|use|require)\b|export\s.*\bfrom\b|#|//|\*)")
_OF_RUST = re.compile(r"(?<=\bcfg!\()\s*(?:not\(\s*)?test\b|(?<=\bcfg\()\s*not\(\s*test\b")
_OF_GO = re.compile(r"\btesting\.Testing\(\)")


@dataclass(frozen=True)
class News:
    """What a program has that it did not have before, wherever it was.

    :param known: the lines that it had, without layout and with one kind of quotes.
    :param texts: the texts of which it has more than before.
    """

    known: Collection[str]
    texts: Collection[str]

    @classmethod
    def of(cls, before: Iterable[str], after: Iterable[str]) -> "News":
        """What is new between the files of two sides.

        :param before: their contents; :param after: the same.
        """
        old, new = "\n".join(before), "\n".join(after)
        return cls({_level(line) for line in old.split("\n")}, _count_texts(new) - _count_texts(old))


def _level(line: str) -> str:
    return " ".join(line.replace("'", '"').split())


def _count_texts(text: str) -> Counter[str]:
    return Counter(found[0][1:-1] for found in _TEXT.finditer(text))


def blind_program(path: str, text: str, news: News) -> tuple[str, tuple[str, ...]]:
    """A source of a program in which what is new in it does not find out that a test runs it, and these lines.

    What it looks for gets another name, so that it is not there. A text that the program had before stays, wherever it
    stands now, unless its own line asks.
    """
    lines = text.split("\n")
    new = [index for index, line in enumerate(lines) if line.strip() and _level(line) not in news.known]
    is_asking = any(_ASKS_AROUND.search(lines[index]) for index in new)
    told: list[str] = []
    for index in new:
        texts = None if _ASKS_AROUND.search(lines[index]) else news.texts if is_asking else ()
        blind = _blind_line(path, lines[index], texts)
        if blind != lines[index]:
            told.append(lines[index].strip())
            lines[index] = blind
    return "\n".join(lines), tuple(told)


def _blind_line(path: str, line: str, texts: Collection[str] | None) -> str:
    """A line that finds out nothing.

    :param texts: those that may be looked for; None: all.
    """
    if path.endswith(".rs"):
        return _OF_RUST.sub(lambda found: re.sub(r"test$", "any()", found[0]), line)
    if _KEPT.match(line):
        return line
    if _IS_DEFINED.search(line):
        line = _FRAMEWORK.sub(_ABSENT, line)
    line = _VARIABLE.sub(_ABSENT, _OF_GO.sub(r"(\g<0> && false)", line))
    return _TEXT.sub(lambda found: _blind_text(found[0], texts), line)


def _blind_text(text: str, texts: Collection[str] | None) -> str:
    is_kept = "ABSENT_" in text or (texts is not None and text[1:-1] not in texts)
    return text if is_kept else _RUNNER.sub(_ABSENT, text)


async def blind_programs(
    git: Git,
    reader: Reader,
    old: tuple[str, Mapping[str, Entry]],
    new: tuple[str, Mapping[str, Entry]],
    parts: Mapping[str, Entry | None],
) -> tuple[dict[str, Entry], tuple[SharedChange, ...]]:
    """The sources of the program at head that ask anew whether a test runs them, made blind, and how they ask.

    :param old: the merge base and its files; :param new: the head and its files.
    :param parts: path → what is laid over a source, of those that hold tests, too.
    """
    base, head = old[1], new[1]
    touched = [path for path in {**base, **head} if base.get(path) != head.get(path) and is_source(path)]
    touched = [path for path in touched if is_of_program(path)]
    before, after = await reader.read(old[0], touched), await reader.read(new[0], touched)
    news = News.of(before.values(), after.values())
    entries: dict[str, Entry] = {}
    changes: list[SharedChange] = []
    for path, text in after.items():
        laid = parts.get(path)
        current = text if laid is None else (await git.run("cat-file", "blob", laid[1])).stdout.decode(errors="replace")
        blind, lines = blind_program(path, current, news)
        if lines:
            entries[path] = (head[path][0], await write_blob(git, blind.encode()))
            changes.append(SharedChange(path, (), lines))
    return entries, tuple(changes)
