"""What the layers of a review look at, and what they know then: layers 1 and 2 together, and the model."""

from agents.llm.models import NOT_SET_UP, Unusable
from domain.config.configuration import Configuration
from domain.config.sections import ReadMode
from domain.review.changes import Change, LockChange, SkippedFile, TouchedFile
from domain.review.findings import Finding, Layer
from domain.review.reading import NOTHING_HELD, Effort, HeldConventions
from domain.review.review import IfUnread, IssueAnswer, LayerReport, ProtectedContents, Risk, RiskLevel
from domain.value import Value
from safety.eligibility import is_included
from safety.risk import RISKY, is_risky, weigh_layer

_DUE = (
    "{points} points of risk beside those that every change of code has: "
    f"from {RISKY} on somebody has to read the change"
)


class CheckedChange(Value):
    """The result of layers 1 and 2, and the risk as far as they know it; in journals.

    :param touched: every changed file; a file that the repository excludes counts as one that cannot run.
    :param read_by: path at head → the linters of its language that read it.
    :param takes_claims: whether a model may say that a failure is hidden.
    """

    merge_base: str
    head_sha: str
    files: int
    additions: int
    deletions: int
    paths: tuple[str, ...]
    findings: tuple[Finding, ...]
    layers: tuple[LayerReport, ...]
    not_looked_at: tuple[SkippedFile, ...]
    sandbox: str
    risk: Risk
    in_passing: tuple[Finding, ...] = ()  # credentials that a commit added and a later one removed
    touched: tuple[TouchedFile, ...] = ()
    read_by: dict[str, tuple[str, ...]] = {}
    behaviour: tuple[str, ...] = ()  # its source that may change the program; of Forge's own, people see the draft
    plain: tuple[str, ...] = ()  # what may run, and of which nothing that does is new: comments, layout, a version
    if_unread: IfUnread = IfUnread.neutral
    takes_claims: bool = True
    only_for: str = ""  # see domain.review.review.Review
    is_shared: bool = False  # likewise
    protected: ProtectedContents | None = None  # likewise
    locks: tuple[LockChange, ...] = ()
    already: tuple[str, ...] = ()  # paths at head that the base branch has identically: merging changes nothing there

    @property
    def has_source(self) -> bool:
        """Whether anything in it may run."""
        return any(each.may_run for each in self.touched)

    @property
    def is_low(self) -> bool:
        """Whether Forge may approve and merge it by itself, so that a model reads all of it first, documents too."""
        return self.risk.level_unasked is RiskLevel.low

    def wants_a_model(self, configuration: Configuration) -> bool:
        """Whether a model should read it if one is set up: every change of source, what is of low risk, and what
        somebody wants read deeply."""
        wanted = self.is_low or configuration.review.effort is Effort.deep
        return configuration.review.may_ask_model and (self.has_source or wanted or self.needs_a_model(configuration))

    def needs_a_model(self, configuration: Configuration) -> bool:
        """Whether a person is asked if no model can read it."""
        match configuration.review.model:
            case ReadMode.never:
                return False
            case ReadMode.always:
                return self.has_source or self.is_risky
            case ReadMode.auto:
                return self.is_risky

    @property
    def is_risky(self) -> bool:
        """Whether more speaks for a risk than that the program may behave differently."""
        return is_risky(self.risk)


class ModelPart(Value):
    """The result of layer 3.

    :param not_read: files that the other layers checked, but the model did not read.
    :param read: paths whose new code it read in full, at this head or an earlier one.
    :param gone: names of its own earlier findings that it calls gone; :param passing: of those whose test passes now.
    :param late: how many remarks it had on lines that an earlier review passed.
    :param summary: what the change does, in lines.
    :param conventions: of the repository, that the change was held against.
    :param is_set_up: there is a model that could read it.
    """

    report: LayerReport
    findings: tuple[Finding, ...] = ()
    not_read: tuple[SkippedFile, ...] = ()
    read: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    late: int = 0
    summary: tuple[str, ...] = ()
    issue: IssueAnswer | None = None
    conventions: HeldConventions = NOTHING_HELD
    is_set_up: bool = True


def skip_model(checked: CheckedChange, configuration: Configuration, missing: str | Unusable | None) -> ModelPart:
    """The result of layer 3 if no model reads the change.

    :param missing: why no model can be asked; None: none is needed.
    """
    layer = LayerReport(layer=Layer.model)
    if not configuration.review.may_ask_model:
        return ModelPart(report=layer)
    is_choice = missing in (None, NOT_SET_UP)  # of which nobody needs to hear in each check
    is_set_up = missing != NOT_SET_UP
    why = missing.reason if isinstance(missing, Unusable) else missing
    if not checked.needs_a_model(configuration):
        note = None if is_choice or not checked.has_source else f"Not read by a model: {why}"
        return ModelPart(report=layer.model_copy(update={"note": note}), is_set_up=is_set_up)
    if configuration.review.model is ReadMode.always:
        due = "The repository wants a model to read every change of source (review.model: always)"
        so = f"{due}, so a person does. {NOT_SET_UP.reason}"
        return ModelPart(report=layer.model_copy(update={"missing": so if is_choice else f"{due}: {why}"}))
    due = f"{_DUE}; no model is set up, so a person does." if is_choice else f"{_DUE}; no model did: {why}"
    return ModelPart(report=weigh_layer(layer.model_copy(update={"if_risky": due}), checked.risk), is_set_up=is_set_up)


def apply_path_filters(change: Change, configuration: Configuration) -> Change:
    """The change without the files that the repository's path filters exclude; those are listed as not looked at."""
    paths = configuration.review.paths
    outside = {file.path for file in change.files if not is_included(file.path, paths)}
    named = tuple(SkippedFile(path=path, reason="left out by review.paths") for path in sorted(outside))
    return change.model_copy(
        update={
            "files": tuple(file for file in change.files if file.path not in outside),
            "not_looked_at": (*change.not_looked_at, *named),
        }
    )
