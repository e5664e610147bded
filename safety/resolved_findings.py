"""Decides whether a commented finding is gone."""

from collections.abc import Collection

from domain.review.checks import BY_RULE
from domain.review.findings import Finding, Layer
from domain.review.review import Review


def is_present(finding: Finding, review: Review) -> bool:
    """Whether a review found it again, even if it is muted."""
    return finding.fingerprint in {each.fingerprint for each in review.all_findings}


def is_gone(finding: Finding, review: Review, carried: Collection[str], *, called_gone: bool) -> bool:
    """Whether a finding of an earlier review is certainly gone.

    A tool's finding is gone if the same tool ran again and does not report it; a model's if its
    file changed and the model calls it gone. A credential is never gone: it stays in the history, and only a person
    knows that it is revoked.

    :param carried: fingerprints of findings with their own comment; one without may be this one, moved.
    :param called_gone: whether the model called it gone when it read the new lines.
    """
    if finding.is_credential or is_present(finding, review):
        return False
    alike = [each for each in review.all_findings if each.trail == finding.trail]
    if finding.layer is Layer.model:
        return called_gone and not alike
    return all(each.fingerprint in carried for each in alike) and _ran_again(finding, review)


def _ran_again(finding: Finding, review: Review) -> bool:
    """Whether its tool fully checked its file at this head."""
    prefix = finding.rule.partition("/")[0]
    check = BY_RULE.get(prefix)
    tool = prefix if check is None else check.name
    layers = [layer for layer in review.layers if layer.layer is finding.layer]
    ran = [each for layer in layers for each in layer.tools if each.tool == tool]
    if any(layer.cut for layer in layers) or any(each.problem is not None for each in ran):
        return False
    if finding.path not in review.changed:
        return True  # unchanged from the base
    unread = [each.path for each in review.not_looked_at if not each.by_model]
    is_broken = any(each.is_syntax_error and each.path == finding.path for each in review.all_findings)
    return finding.path not in unread and not is_broken and (bool(ran) or (check is not None and check.always_runs))
