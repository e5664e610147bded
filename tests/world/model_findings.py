"""Code that divides by zero, and the finding that the model reports."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel

SHOP = {"README.md": "# Shop\n", "tests/test_shop.py": "def test_shop() -> None:\n    assert True\n"}


FILLER = "".join(f"VALUE_{number} = {number}\n" for number in range(120))


PAY = FILLER + "\n\ndef total(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n"


LINE = PAY.splitlines().index("    return sum(prices) / len(prices)") + 1


def claim(
    line: int = LINE, quote: str = "return sum(prices) / len(prices)", severity: str = "error"
) -> dict[str, JsonValue]:
    """A finding as the model hands it in."""
    return {
        "rule": "model/logic-error",
        "path": "billing/pay.py",
        "line": line,
        "end_line": line,
        "quote": quote,
        "severity": severity,
        "confidence": 0.9,
        "message": "An empty list divides by zero. Return 0 for it, or refuse it.",
    }


def find_division(model: ScriptedModel, severity: str = "error") -> None:
    """Let the model find the division, and stand by it when it looks again."""
    model.when("len(prices)", {"findings": [claim(severity=severity)]})
    model.when("== candidates", {"verdicts": [{"number": 1, "confirmed": True, "confidence": 0.9}]})
