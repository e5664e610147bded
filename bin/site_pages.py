"""Gathers the pages of the documentation site in one folder, and every file that they link to.

``python bin/site_pages.py FOLDER``. In the repository a page may link to any file; a site has only what is in its
folder. So links to pages are turned to where these lie there, and other files are copied beside them.
"""

import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from posixpath import relpath

ROOT = Path(__file__).resolve().parent.parent
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages outside of docs: path in the repository → path in the site."""

_LINK = re.compile(r"(?P<before>\]\(|src=\")(?!https?:|#|mailto:)(?P<path>[^)\s\"#]+)(?P<anchor>#[^)\s\"]*)?")
_FENCED = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def place(path: str) -> str:
    """Where a file of the repository lies in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    name = path if PurePosixPath(path).suffix != ".md" else f"{path}.txt"  # shown as it is, not as a page
    return MOVED.get(path) or f"files/{name}"


def turn_links(text: str, page: str, linked: set[str]) -> str:
    """A page with its links turned to the site; the files it links to are added to ``linked``.

    Args:
        text: Markdown.
        page: its path in the repository.
        linked: paths in the repository.
    """

    def turn(match: re.Match[str]) -> str:
        target = (ROOT / page).parent.joinpath(match["path"]).resolve().relative_to(ROOT).as_posix()
        linked.add(target)
        here = PurePosixPath(place(page)).parent.as_posix()
        return f"{match['before']}{relpath(place(target), here)}{match['anchor'] or ''}"

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(turn, part) for part in parts)


def gather(folder: Path) -> None:
    """Write everything into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = [*MOVED, *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))]
    linked: set[str] = {"docs/forge.schema.json"}
    for page in pages:
        target = folder / place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(turn_links((ROOT / page).read_text(encoding="utf-8"), page, linked), encoding="utf-8")
    for path in sorted(linked - set(pages)):
        target = folder / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
