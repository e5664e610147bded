"""Layer 3 of a review: what a model is asked about a change, and what of its answers people get to see."""

from agents.model_review.answers import Report, findings_of, rechecked
from agents.model_review.questions import Earlier, Intent, Plan, ReviewQuestion, questions
from agents.model_review.reading import Size, narrowed, now_at
from agents.model_review.second_look import Verdicts, confirmed, second_look

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
