"""Decides whether added tests stay by themselves: all that they use is known to be harmless, or the project's own.

What is not on a list reaches out, so that nothing has to be known about what does. There are lists for Python,
JavaScript with TypeScript, and Go; tests in other languages are taken to reach out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from agents.syntax.reach import go, javascript, python
from agents.syntax.trees import SyntaxNode

_Judge = Callable[[str, str, Sequence[SyntaxNode], SyntaxNode, Collection[str]], bool]
_JUDGES: Mapping[str, _Judge] = {
    "python": python.stays,
    "javascript": javascript.stays,
    "typescript": javascript.stays,
    "tsx": javascript.stays,
    "go": go.stays,
}


def stays_by_itself(
    path: str, language: str, text: str, added: Sequence[SyntaxNode], tree: SyntaxNode, own: Collection[str]
) -> bool:
    """Whether added nodes of a file of tests use only what is known.

    :param text: the file; :param tree: all of it, of which ``added`` are parts.
    :param own: the names of the repository's own Python packages and modules, and of its Go module.
    """
    judge = _JUDGES.get(language)
    return judge is not None and judge(path, text, added, tree, own)
