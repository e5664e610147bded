"""Every text with which Forge introduces itself in a repository: what it does there, and how to steer or stop it."""

from collections.abc import Iterator

from domain.github.installations import RepositoryOverview
from domain.runs.run import REVIEW_CHECK
from domain.text.escaping import escape, inline_code, inline_path
from domain.verbs import VERBS, Verb
from safety.allowed_actions import NAMES

TITLE = "Forge works here now"

OFF = "ignored: the operator welcomes nobody"

_GREETING = (
    "Somebody installed Forge for this repository. This is the only time it introduces itself; close this issue "
    "whenever you like."
)
_FIRST = (
    Verb.help,
    Verb.review,
    Verb.dismiss,
    Verb.do,
    Verb.update,
    Verb.mend,
    Verb.plan,
    Verb.run,
    Verb.pause,
)
"""The commands to begin with."""
_OF_MODELS = frozenset({Verb.do, Verb.mend, Verb.plan, Verb.run})
"""Those of them that do nothing where no model is asked."""


def render_issue(overview: RepositoryOverview, marker: str) -> str:
    """The body of the issue, one screen long."""
    first = [verb for verb in _FIRST if overview.model or verb not in _OF_MODELS]
    rows = "\n".join(f"| `/forge {VERBS[verb].usage}` | {VERBS[verb].meaning} |" for verb in first)
    parts = [
        _GREETING,
        _tell_purpose(overview),
        f"### What leaves this repository\n\n{_tell_privacy(overview)}",
        f"### What Forge sees here\n\n{_tell_sights(overview)}",
        f"### First commands\n\n| in a comment | |\n| --- | --- |\n{rows}",
        f"### How to switch it off\n\n{_ENDS}",
        marker,
    ]
    return "\n\n".join(parts)


def describe_outcome(opened: int) -> str:
    """For the deliveries table.

    :param opened: issues.
    """
    return f"{opened} issue{'' if opened == 1 else 's'} opened"


def _tell_purpose(overview: RepositoryOverview) -> str:
    return (
        f"Forge reviews each pull request: one check, `{REVIEW_CHECK}`, and comments on the lines, only about what the "
        "change introduces. From issues it makes plans and pull requests, when somebody asks. People decide: it asks "
        f"before anything it may not do alone. Automation is at level {overview.level} "
        f"({NAMES[overview.level]}); `/forge level` says what that allows."
    )


def _tell_privacy(overview: RepositoryOverview) -> str:
    if not overview.model:
        why = "`review.model: never` says so" if overview.keeps_code else "none is set up"
        return f"Nothing goes to a model: {why}. Checks run on the server of Forge."
    return (
        f"Changed files, and what explains them, go to {inline_code(overview.model)} when a review needs it. In "
        "`.github/forge.yml`, `review: {never_send: [PATTERNS]}` keeps files from it, and `review: {model: never}` "
        "everything. Forge masks credentials it recognises."
    )


def _tell_sights(overview: RepositoryOverview) -> str:
    lines = [*_list_sights(overview), *_list_advice(overview)]
    return "\n".join(f"- {line}" for line in lines)


def _list_sights(overview: RepositoryOverview) -> Iterator[str]:
    languages = ", ".join(escape(name, 40) for name in overview.languages)
    yield f"**Languages:** {languages or 'no source yet'}."
    linters = ", ".join(inline_code(name, 60) for name in overview.linters)
    yield f"**Checked by:** {f'{linters}, and ' if linters else ''}a search for credentials and dangerous code."
    if overview.tests:
        is_set = "`commands.test`" in overview.tests
        yield f"**Tests:** {escape(overview.tests)}{'' if is_set else ' Set `commands.test` if that is wrong.'}"


def _list_advice(overview: RepositoryOverview) -> Iterator[str]:
    for name, path in overview.idle_linters.items():
        yield (
            f"**Not run:** {escape(name, 60)}, although there is {inline_path(path)}. Name it in `review.linters` to "
            "have Forge run it."
        )
    if overview.missing:
        missing = ", ".join(inline_code(each, 60) for each in overview.missing)
        yield f"**Missing permissions:** {missing}. An owner grants them in the settings of the installation."
    if overview.is_required is False:
        yield (
            f"**Nothing waits for Forge:** {inline_code(overview.branch)} does not require the check "
            f"`{REVIEW_CHECK}`. To require it, choose this App as its source, so that nothing else can report it."
        )


_ENDS = (
    "`/forge pause` by an admin stops it until `/forge unpause`. In `.github/forge.yml` on the default branch, "
    "`review: {on_pull_request: false}` leaves reviews to those who ask. An owner removes this repository, or "
    "uninstalls the App, in GitHub's settings; Forge then deletes what it keeps of the code."
)
