"""Whole pages, as an author reads them: whoever changes a sentence sees here what it stands beside."""

from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.world.model_findings import DIVISION, PAY, claim
from tests.world.pages import show_page

SHOP = {"README.md": "# Shop\n", "shop/__init__.py": "", "deploy/service.yml": "replicas: 2\n"}
FETCH = '''\
"""Looks after parcels."""

import os
import subprocess


def track(parcel: str) -> bytes:
    """Where a parcel is."""
    return subprocess.check_output(f"carrier {parcel}", shell=True)
'''


async def _propose(story: Story, change: dict[str, str], settings: str = "{}") -> tuple[User, User, PullRequest]:
    """A pull request of alice's; carol maintains."""
    repository, alice = story.repository({**SHOP, ".github/forge.yml": f"{settings}\n"})
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, change, title="Track parcels", body="As asked in the shop.")
    return alice, carol, pull


async def test_a_page_without_a_model(story: Story) -> None:
    _, _, pull = await _propose(story, {"shop/parcels.py": FETCH})
    story.pass_over(pull)
    assert show_page(story.github, pull) == snapshot("""\
# Track parcels · #1 · alice · open

As asked in the shop.

----- forge[bot] reviewed · commented -----
**Changes requested: 1 finding to fix.**

----- shop/parcels.py:9 · forge[bot] -----
🔴 **Error** · security

The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True.

<sub>F-ZLWOFJ · [`ruff/S602`](https://docs.astral.sh/ruff/rules/subprocess-popen-with-shell-equals-true) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why</sub>

----- shop/parcels.py:3 · forge[bot] -----
🟡 **Warning** · correctness

`os` imported but unused. Remove the import, or use it; if it is there for others to import, list it in `__all__`.

```suggestion
```

<sub>F-APAUPJ · [`ruff/F401`](https://docs.astral.sh/ruff/rules/unused-import) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why</sub>

===== Forge / review: failure · Changes requested: 1 finding to fix [Review again] =====
- 1 finding of severity error or above
- No model read the logic of shop/parcels.py

**Next:** fix the findings marked error or critical, and push.

### Findings

| | where | what | rule |
| --- | --- | --- | --- |
| 🔴 error | `shop/parcels.py:9` 💬 | The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True. <sub>F-ZLWOFJ</sub> | [`ruff/S602`](https://docs.astral.sh/ruff/rules/subprocess-popen-with-shell-equals-true) |
| 🟡 warning | `shop/parcels.py:3` 💬 | `os` imported but unused. Remove the import, or use it; if it is there for others to import, list it in `__all__`. <sub>F-APAUPJ</sub> | [`ruff/F401`](https://docs.astral.sh/ruff/rules/unused-import) |

<details><summary>Risk · what ran · N s</summary>

### Risk: medium (32 of 100)

| points | why |
| --- | --- |
| +25 | May change what the program does: shop/parcels.py |
| +6 | 1 finding of severity error |
| +1 | 1 finding of severity warning |

Medium is 25 to 49, high 50 to 74, critical more. Points besides those for changed behaviour: 7; from 18 on a person is asked.

### What ran

| check | tool | files | time | |
| --- | --- | --- | --- | --- |
| static analysis | `ruff` | 1 | N s | done |
| static analysis | `avoidance` | 1 | N s | done |
| security | `ruff` | 1 | N s | done |
| security | `detect-secrets` | 1 | N s | done |
| security | `ast-grep` | 1 | N s | done |
| model | | | | Not read by a model: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |

Tools ran in PLACE.

<sub>1 file, +9 −0 · SHA…SHA</sub>

</details>

<details><summary>For your coding agent</summary>

```
Fix each of these at its cause, and keep all other behaviour.

F-ZLWOFJ shop/parcels.py:9 (error): The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True.

F-APAUPJ shop/parcels.py:3 (warning): `os` imported but unused. Remove the import, or use it; if it is there for others to import, list it in `__all__`.
```

</details>\
""")


async def test_a_page_with_a_model(story: Story, model: ScriptedModel) -> None:
    model.when("len(prices)", {"summary": "Adds the total of an order.", "findings": [claim(severity="warning")]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": DIVISION}]})
    _, _, pull = await _propose(story, {"billing/pay.py": PAY, "shop/parcels.py": FETCH})
    story.pass_over(pull)
    assert show_page(story.github, pull) == snapshot("""\
# Track parcels · #1 · alice · open

As asked in the shop.

----- forge[bot] reviewed · commented -----
**Changes requested: 1 finding to fix.**

**What it does:** Adds the total of an order.

----- shop/parcels.py:9 · forge[bot] -----
🔴 **Error** · security

The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True.

<sub>F-ZLWOFJ · [`ruff/S602`](https://docs.astral.sh/ruff/rules/subprocess-popen-with-shell-equals-true) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why</sub>

----- shop/parcels.py:3 · forge[bot] -----
🟡 **Warning** · correctness

`os` imported but unused. Remove the import, or use it; if it is there for others to import, list it in `__all__`.

```suggestion
```

<sub>F-APAUPJ · [`ruff/F401`](https://docs.astral.sh/ruff/rules/unused-import) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why</sub>

----- billing/pay.py:124 · forge[bot] -----
🟡 **Warning** · correctness

An empty list divides by zero. Return 0 for it, or refuse it.

<sub>F-OZQFDT · `model/logic-error` · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why</sub>

===== Forge / review: failure · Changes requested: 1 finding to fix [Review again] =====
- 1 finding of severity error or above

**Next:** fix the findings marked error or critical, and push.

**What it does:** Adds the total of an order.

### Findings

| | where | what | rule |
| --- | --- | --- | --- |
| 🔴 error | `shop/parcels.py:9` 💬 | The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True. <sub>F-ZLWOFJ</sub> | [`ruff/S602`](https://docs.astral.sh/ruff/rules/subprocess-popen-with-shell-equals-true) |
| 🟡 warning | `shop/parcels.py:3` 💬 | `os` imported but unused. Remove the import, or use it; if it is there for others to import, list it in `__all__`. <sub>F-APAUPJ</sub> | [`ruff/F401`](https://docs.astral.sh/ruff/rules/unused-import) |
| 🟡 warning | `billing/pay.py:124` 💬 | An empty list divides by zero. Return 0 for it, or refuse it. <sub>F-OZQFDT</sub> | `model/logic-error` |

<details><summary>Risk · what ran · N s</summary>

### Risk: medium (47 of 100)

| points | why |
| --- | --- |
| +25 | May change what the program does: billing/pay.py, shop/parcels.py |
| +10 | Named like code for authentication, permissions, cryptography or payments: billing/pay.py |
| +6 | 1 finding of severity error |
| +4 | 133 changed lines that may matter |
| +2 | 2 findings of severity warning |

Medium is 25 to 49, high 50 to 74, critical more.

### What ran

| check | tool | files | time | |
| --- | --- | --- | --- | --- |
| static analysis | `ruff` | 2 | N s | done |
| static analysis | `avoidance` | 2 | N s | done |
| security | `ruff` | 2 | N s | done |
| security | `detect-secrets` | 2 | N s | done |
| security | `ast-grep` | 2 | N s | done |
| model | `scripted` | 2 | N s | done |

Tools ran in PLACE.

<sub>2 files, +133 −0 · SHA…SHA · N tokens</sub>

</details>

<details><summary>For your coding agent</summary>

```
Fix each of these at its cause, and keep all other behaviour.

F-ZLWOFJ shop/parcels.py:9 (error): The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True.

F-APAUPJ shop/parcels.py:3 (warning): `os` imported but unused. Remove the import, or use it; if it is there for others to import, list it in `__all__`.

F-OZQFDT billing/pay.py:124 (warning): An empty list divides by zero. Return 0 for it, or refuse it.
```

</details>\
""")


async def test_a_page_with_a_gate_that_waits_and_is_answered(story: Story) -> None:
    settings = "paths: {protected: [deploy/**]}"
    alice, carol, pull = await _propose(story, {"deploy/service.yml": "replicas: 3\n"}, settings)
    assert story.gates(pull) == ["protected_paths"]
    assert show_page(story.github, pull) == snapshot("""\
# Track parcels · #1 · alice · open

As asked in the shop.

----- forge[bot] commented -----
**Forge asks: protected_paths** · G-ID · head `SHA`

This changes protected files, for the reasons below. Approve if that is intended.

- 1 protected path changed
  - deploy/service.yml (named in `paths.protected`)

| answer | what it does |
| --- | --- |
| `/forge approve protected_paths` | the run continues |
| `/forge approve protected_paths with: note` | the run continues; your words are kept with the decision |
| `/forge reject protected_paths reason` | the run ends, and the check fails |
| `/forge delegate protected_paths @account` | asks someone else with permission to decide |

**Who decides:** anyone with the role maintain or above, but the author of the change only if nobody else has it. **Until:** TIME; then it expires, which lets nothing pass. A push voids it.

===== Forge / review: action_required · Needs a human review [Review again] =====
- protected_paths is waiting for a person with the role maintain
- Nothing was found by 3 tools; neither a linter nor a model read 1 file beside the source
  - deploy/service.yml

**Next:** someone with permission decides at the gate, with its buttons or a comment.

<details><summary>Risk · what ran · N s</summary>

### Risk: medium (26 of 100)

| points | why |
| --- | --- |
| +25 | Changes what programs may obey, such as settings: deploy/service.yml |
| +1 | Touches the build or deployment of the software: deploy/service.yml |

Medium is 25 to 49, high 50 to 74, critical more. Points besides those for changed behaviour: 1; from 18 on a person is asked.

### What ran

| check | tool | files | time | |
| --- | --- | --- | --- | --- |
| static analysis | `syntax` | 1 | N s | done |
| static analysis | `avoidance` | 1 | N s | done |
| security | `detect-secrets` | 1 | N s | done |
| model | | | | Not read by a model: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |

Tools ran in PLACE.

<sub>1 file, +1 −1 · SHA…SHA</sub>

</details>

===== Forge / gate: protected_paths: action_required · Waiting until TIME for a person with the role maintain [Approve] [Reject] [View] =====
- 1 protected path changed
  - deploy/service.yml (named in `paths.protected`)

How to answer, and who may: Forge's comment on #1.\
""")

    story.clock.move(minutes=20)
    await story.after(alice.comment(pull, "/forge approve"))
    await story.after(carol.comment(pull, "Thank you.\n\n/forge approve with: watch the memory"))
    assert show_page(story.github, pull) == snapshot("""\
# Track parcels · #1 · alice · open

As asked in the shop.

----- forge[bot] commented -----
**protected_paths: Approved by carol, with a note** · G-ID · head `SHA`

Decided on TIME, 20 minutes after it was asked.

> watch the memory

The run continues. Your words are kept with the decision.

This changes protected files, for the reasons below. Approve if that is intended.

- 1 protected path changed
  - deploy/service.yml (named in `paths.protected`)

----- alice commented · 👀 -----
/forge approve

----- forge[bot] commented -----
Refused: `protected_paths` (G-ID) needs the role maintain; `alice` has write. It is still waiting.

----- carol commented · 👀 👍 -----
Thank you.

/forge approve with: watch the memory

===== Forge / review: neutral · Nothing found; no linter or model read 1 file [Review again] =====
- carol approved protected_paths, on conditions: watch the memory
- Nothing was found by 3 tools; neither a linter nor a model read 1 file beside the source
  - deploy/service.yml

**Next:** have a person read the files named above before you merge.

### Gates

| gate | state | conditions or reason |
| --- | --- | --- |
| `protected_paths` | Approved by carol, with a note | watch the memory |

<details><summary>Risk · what ran · N s</summary>

### Risk: medium (26 of 100)

| points | why |
| --- | --- |
| +25 | Changes what programs may obey, such as settings: deploy/service.yml |
| +1 | Touches the build or deployment of the software: deploy/service.yml |

Medium is 25 to 49, high 50 to 74, critical more. Points besides those for changed behaviour: 1; from 18 on a person is asked.

### What ran

| check | tool | files | time | |
| --- | --- | --- | --- | --- |
| static analysis | `syntax` | 1 | N s | done |
| static analysis | `avoidance` | 1 | N s | done |
| security | `detect-secrets` | 1 | N s | done |
| model | | | | Not read by a model: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |

Tools ran in PLACE.

<sub>1 file, +1 −1 · SHA…SHA</sub>

</details>

===== Forge / gate: protected_paths: success · Approved by carol, with a note =====
Decided on TIME, 20 minutes after it was asked.

> watch the memory

The run continues. Your words are kept with the decision.\
""")
    story.pass_over(pull)
