"""The files a pull request changes, with its threads and annotations at their lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from simulator import pull_json
from simulator.diff import DiffLine, FileDiff
from simulator.pages import checks, conversation, html, pulls
from simulator.pages.html import (
    Content,
    Html,
    Visit,
    address,
    anchor_of,
    button,
    div,
    element,
    fold,
    link,
    render_hidden,
    span,
    text_area,
)
from simulator.pages.layout import count, page, verb_form
from simulator.state import Json, PullRequest, Thread


def show(visit: Visit) -> Html:
    pull = visit.pull()
    files = pull_json.pull_files(pull)
    content = [pulls.heading(visit, pull, "files"), _review_form(visit, pull), _totals(files)]
    shown = [_File(visit, pull, file).show() for file in files]
    title = f"Files · {pull.title}"
    return page(visit, title, *content, *shown, repository=pull.repository, issue=pull)


def diff(files: list[FileDiff]) -> list[Content]:
    """The files without comments, for the page of a commit."""
    return [
        div("file", _head(file, None), html.hunks(file.patch, file.lines, anchor_of(file.path), _nothing, _nothing))
        for file in files
    ]


def _nothing(_: DiffLine) -> None:
    return None


def _totals(files: list[FileDiff]) -> Html:
    added, removed = sum(file.additions for file in files), sum(file.deletions for file in files)
    toc = [element("li", link(f"#{anchor_of(file.path)}", file.path)) for file in files]
    return fold(f"{count(len(files), 'file')} · +{added} −{removed}", element("ul", toc))


def _review_form(visit: Visit, pull: PullRequest) -> Html:
    choice = [
        button(label, event=event)
        for label, event in (("Comment", "COMMENT"), ("Approve", "APPROVE"), ("Request changes", "REQUEST_CHANGES"))
    ]
    return fold("Review changes", verb_form(visit, pull, "review", text_area("Your review"), div("row", choice)))


def _head(file: FileDiff, more: Content) -> Html:
    name = file.path if file.old_path == file.path else f"{file.old_path} → {file.path}"
    numbers = [span("good", f"+{file.additions}"), " ", span("bad", f"−{file.deletions}")]
    status = span("badge", file.status) if file.status != "modified" else None
    return div("file-head", element("code", name), " ", status, " ", numbers, " ", more)


@dataclass
class _File:
    """One file of the diff, for whoever looks at it."""

    visit: Visit
    pull: PullRequest
    file: FileDiff

    def show(self) -> Html:
        file, anchor = self.file, anchor_of(self.file.path)
        whole = [thread for thread in self._threads if thread.comments[0].subject_type == "file"]
        empty = div("quiet", "A binary file, or a change without lines.")
        body = html.hunks(file.patch, file.lines, anchor, self._below, self._number) if file.lines else empty
        notes = [conversation.show_in_files(self.visit, thread) for thread in whole]
        return element("section", _head(file, self._links()), notes, body, class_="file", id=anchor)

    def _links(self) -> Content:
        head = self.pull.head_repository
        if self.file.status == "removed" or head is None:
            return None
        parts = self.file.path.split("/")
        view = address(self.pull.repository, "blob", self.pull.head_sha, *parts)
        edit = address(head, "edit", self.pull.head_ref, *parts)
        return [link(view, "View"), " ", link(edit, "Edit") if self.pull.state == "open" else None]

    @cached_property
    def _threads(self) -> list[Thread]:
        return [
            thread for thread in self.pull.threads if thread.comments[0].path == self.file.path and not thread.outdated
        ]

    @cached_property
    def _annotations(self) -> list[Json]:
        runs = pulls.latest_runs(self.visit, self.pull)
        return [item for run in runs for item in run.annotations if item["path"] == self.file.path]

    def _below(self, line: DiffLine) -> list[Content]:
        places = {("LEFT", line.old), ("RIGHT", line.new)}
        here = [thread for thread in self._threads if (thread.comments[0].side, thread.comments[0].line) in places]
        notes = [item for item in self._annotations if item["end_line"] == line.new]
        shown: list[Content] = [checks.annotation(self.pull, item) for item in notes]
        shown += [conversation.show_in_files(self.visit, thread) for thread in here]
        shown += [self._form(line)] if self._is_asked_for(line) else []
        return [html.across(item, class_="between") for item in shown]

    def _number(self, line: DiffLine) -> Html:
        """The plus beside a line that opens the form under it."""
        side, number = _place(line)
        target = "?" + urlencode({"on": self.file.path, "side": side, "line": number}) + "#comment"
        return element("a", "+", href=target, class_="plus", aria_label=f"Comment on line {number}")

    def _is_asked_for(self, line: DiffLine) -> bool:
        side, number = _place(line)
        asked = self.visit.query
        return (asked.get("on"), asked.get("side"), asked.get("line")) == (self.file.path, side, str(number))

    def _form(self, line: DiffLine) -> Html:
        side, number = _place(line)
        place = render_hidden(path=self.file.path, side=side, line=number)
        start = element("input", name="start_line", size=5, inputmode="numeric", aria_label="From line")
        row = div("row", element("label", "From line ", start), button("Add comment", class_="primary"))
        box = text_area(f"Comment on line {number}")
        return element("div", verb_form(self.visit, self.pull, "line", place, box, row), id="comment")


def _place(line: DiffLine) -> tuple[str, int | None]:
    return ("LEFT", line.old) if line.new is None else ("RIGHT", line.new)
