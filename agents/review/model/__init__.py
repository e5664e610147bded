"""Layer 3 of a review: what a model is asked about a change, and what of its answers people get to see."""

from agents.review.model.answers import Report, findings_of, rechecked
from agents.review.model.file_selection import Size, narrowed, now_at
from agents.review.model.questions import Earlier, Intent, Plan, ReviewQuestion, questions
from agents.review.model.second_look import Verdicts, confirmed, second_look

__all__ = [
    "Earlier",
    "Intent",
    "Plan",
    "Report",
    "ReviewQuestion",
    "Size",
    "Verdicts",
    "confirmed",
    "findings_of",
    "narrowed",
    "now_at",
    "questions",
    "rechecked",
    "second_look",
]
