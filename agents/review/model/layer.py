"""What the pipeline uses of layer 3: the questions to a model about a change, and the findings from its answers."""

from agents.review.model.answers import Report, extract_findings, judge_issue, read_earlier_verdicts, summarise_change
from agents.review.model.conventions import (
    CodeRules,
    ConventionReport,
    build_rules_question,
    extract_broken,
    keep_rules,
)
from agents.review.model.file_selection import ReadingLimits, find_current_line, narrow_change
from agents.review.model.notebooks import show_cells
from agents.review.model.questions import (
    ConventionQuestion,
    EarlierFinding,
    Intent,
    QuestionPlan,
    ReviewQuestion,
    build_questions,
)
from agents.review.model.second_look import Verdicts, build_second_look, keep_confirmed, keep_sure

__all__ = [
    "CodeRules",
    "ConventionQuestion",
    "ConventionReport",
    "EarlierFinding",
    "Intent",
    "QuestionPlan",
    "ReadingLimits",
    "Report",
    "ReviewQuestion",
    "Verdicts",
    "build_questions",
    "build_rules_question",
    "build_second_look",
    "extract_broken",
    "extract_findings",
    "find_current_line",
    "judge_issue",
    "keep_confirmed",
    "keep_rules",
    "keep_sure",
    "narrow_change",
    "read_earlier_verdicts",
    "show_cells",
    "summarise_change",
]
