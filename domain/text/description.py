"""The description of a pull request: the issues it closes, and its sections without losing what people wrote."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b", re.IGNORECASE)


def list_closed_issues(text: str) -> tuple[int, ...]:
    """The numbers of the issues of the same repository, in order, each once.

    Source: https://docs.github.com/issues/tracking-your-work-with-issues/linking-a-pull-request-to-an-issue
    """
    return tuple(dict.fromkeys(int(number) for number in _CLOSES.findall(text)))


def keep_open(text: str, closed: Collection[int]) -> str:
    """The text, in which nothing closes an issue but those of ``closed``."""

    def defuse(found: re.Match[str]) -> str:
        return found[0] if int(found[1]) in closed else found[0].replace("#", "issue #")

    return _CLOSES.sub(defuse, text)


_BEGIN, _END = "<!-- written by Forge -->", "<!-- end of what Forge wrote -->"
_OWN = re.compile(rf"\n*{_BEGIN}.*?{_END}", re.DOTALL)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TASK = re.compile(r"[ \t]*[-*+][ \t]+\[[ xX]\][ \t]")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TEMPLATE = re.compile(r"(?:\.github/|docs/)?pull_request_template(?:\.(?:md|txt)|/[^/]+\.(?:md|txt))", re.IGNORECASE)


@dataclass(frozen=True)
class DescribedSection:
    """A part of a description.

    :param heading: the line as it stands; empty above the first one.
    :param text: what stands below it.
    """

    heading: str
    text: str

    @property
    def name(self) -> str:
        """What its heading says, in small letters; empty above the first one."""
        found = _HEADING.fullmatch(self.heading)
        return " ".join(found[1].lower().split()) if found else ""


def is_template(path: str) -> bool:
    """Whether GitHub offers a file as a template of pull requests.

    Source: https://docs.github.com/communities/using-templates-to-encourage-useful-issues-and-pull-requests
    """
    return _TEMPLATE.fullmatch(path) is not None


def choose_template(templates: Mapping[str, str], body: str) -> str:
    """The template that a description was begun with, or would be; empty if there is none.

    :param templates: path → text.
    """
    written = {section.name for section in split_sections(body)}

    def rate(path: str) -> tuple[int, int, str]:
        shared = sum(section.name in written for section in split_sections(templates[path]) if section.name)
        return -shared, path.count("/"), path

    return templates[min(templates, key=rate)] if templates else ""


def split_sections(markdown: str) -> Sequence[DescribedSection]:
    """The sections of a text, beginning with what stands above the first heading, which may be nothing."""
    sections, heading = list[DescribedSection](), ""
    lines: list[str] = []
    fence = ""
    is_hidden = False
    for line in markdown.replace("\r\n", "\n").split("\n"):
        mark = _FENCE.match(line)
        if mark and not is_hidden:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if not fence and not is_hidden and _HEADING.fullmatch(line):
            sections.append(DescribedSection(heading, "\n".join(lines)))
            heading = line
            lines = []
        else:
            lines.append(line)
            is_hidden = not fence and (line.rfind("<!--") > line.rfind("-->") or (is_hidden and "-->" not in line))
    return [*sections, DescribedSection(heading, "\n".join(lines))]


def strip_own(body: str) -> str:
    """A description without what Forge wrote in it."""
    return _OWN.sub("", body.replace("\r\n", "\n"))


def strip_marks(body: str) -> str:
    """A description without the marks around what Forge wrote, which nobody sees."""
    return body.replace(f"{_BEGIN}\n", "").replace(f"\n{_END}", "")


def compose(template: str, body: str, drafted: Mapping[str, str]) -> str:
    """A description with a text in each of its sections.

    What a person wrote stays where it is, with its boxes as they are ticked; what the template says to be replaced goes
    where there is something in its place.

    :param template: empty if there is none; then everything that is drafted goes above the first heading.
    :param body: the description as it is.
    :param drafted: name of a section of the template → its text, which is safe; what Forge wrote before goes.
    """
    asked = split_sections(template)
    written = list(split_sections(strip_own(body)))
    parts: list[str] = []
    for section in asked:
        own = next((each for each in written if each.name == section.name), None)
        if own is not None:
            written.remove(own)
        parts.append(_fill(section, own or section, drafted.get(section.name, "")))
    parts += [_join(each.heading, each.text) for each in written]
    return "\n\n".join(part for part in parts if part)


def _fill(asked: DescribedSection, own: DescribedSection, draft: str) -> str:
    kept = _list_own_words(asked.text, own.text)
    if not draft and not kept:
        return _join(own.heading, own.text)
    marked = f"{_BEGIN}\n{draft}\n{_END}" if draft else ""
    return _join(own.heading, "\n\n".join(part for part in (kept, marked) if part))


def _list_own_words(template: str, text: str) -> str:
    """What stands in a section beside the words of its template; its boxes count, ticked or not."""
    for comment in _COMMENT.findall(template):
        text = text.replace(comment, "")
    given = {line.strip() for line in template.split("\n")} - {""}
    lines = [line for line in text.split("\n") if line.strip() not in given or _TASK.match(line)]
    return "\n".join(lines).strip("\n")


def _join(heading: str, text: str) -> str:
    return "\n\n".join(part for part in (heading, text.strip("\n")) if part.strip())
