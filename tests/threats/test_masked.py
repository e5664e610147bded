"""Credentials in unusual places (T-O7): masked wherever Forge keeps or sends them."""

import random
import re
import string

from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.threats.traces import collect_posts, dump_database
from tests.world.model_findings import FILLER
from tests.world.replies import first_lines

_RANDOM = random.Random(29)


def some(length: int) -> str:
    return "".join(_RANDOM.choice(string.ascii_letters + string.digits) for _ in range(length))


STAGE, PROD, COMPARED = (f"q9Zr4-{some(8)}" for _ in range(3))
CLONED, REMOVED = f"ghp_{some(36)}", f"hvs.{some(30)}"
BEFORE = f"""\
import shop

password_stage = "{STAGE}"
secret_key_storage = '{PROD}'


def total(prices):
    if shop.password == "{COMPARED}":
        return 0
    # git clone https://{CLONED}@github.com/octo-org/shop
    vault = "{REMOVED}"
    return sum(prices)
"""


async def test_t_o7_unchanged_and_removed_lines_are_masked_for_the_model(story: Story, model: ScriptedModel) -> None:
    """Layer 1 says nothing of lines that a change does not add; a model is shown them all the same."""
    repository, alice = story.repository({"README.md": "# Shop\n", "billing/pay.py": BEFORE})
    after = BEFORE.replace(f'    vault = "{REMOVED}"\n', "").replace("sum(prices)", "sum(prices) / len(prices)")
    after = after.replace("import shop\n", f"import shop\n{FILLER}{FILLER.replace('VALUE', 'OTHER')}")
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": after}, title="Mean price")
    assert first_lines(story.reviews(pull)) == snapshot([])
    told = "\n".join(call.content for call in model.calls)
    assert "len(prices)" in told
    assert "password_stage" in told
    places = {"the prompt": told, "the database": dump_database(story.forge.settings.database_url)}
    places["GitHub"] = collect_posts(story, repository, pull)
    secrets = [STAGE, PROD, COMPARED, CLONED, REMOVED]
    assert [(place, each) for place, text in places.items() for each in secrets if each in text] == []


async def test_t_o7_unusual_names_and_places_of_a_credential_are_reported(story: Story) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n"})
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": BEFORE})
    assert story.gates(pull) == ["security_findings"]
    assert first_lines(story.reviews(pull)) == snapshot(["**Changes requested: 4 findings to fix.** Risk high."])
    comments = [each for each in story.comments(pull) if "secret/" in each.body]
    also = {int(line) for each in comments for line in re.findall(r"pay\.py:(\d+)`", each.body)}
    assert {each.line for each in comments} | also == {3, 4, 8, 10}


async def test_t_o7_what_people_write_is_masked_before_it_is_kept(story: Story) -> None:
    """In a title, what is to be remembered and why a gate is rejected."""
    title, memory, reason = (f"ghp_{some(36)}" for _ in range(3))
    repository, alice = story.repository({"README.md": "# Shop\n"})
    carol = story.member(repository, "carol", "admin")
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": BEFORE}, title=f"Use {title}")
    await carol.comment(pull, f"/forge remember the token is {memory}\0")
    await story.settle()
    await carol.comment(pull, f"/forge reject security_findings it is {reason}")
    await story.settle()
    assert first_lines(story.reviews(pull)) == snapshot(["**Changes requested: 4 findings to fix.** Risk high."])
    assert first_lines(story.questions(pull)) == snapshot(
        ["**security_findings: Rejected by carol** · G-ID · head `SHA`"]
    )
    assert "the text seems to contain a credential" in story.answers(pull)[0].body
    said = "".join(each.body for each in story.answers(pull) + story.questions(pull))
    places = {"the database": dump_database(story.forge.settings.database_url), "what Forge said": said}
    secrets = {"title": title, "memory": memory, "reason": reason}
    assert [(place, name) for place, text in places.items() for name, each in secrets.items() if each in text] == []


async def test_t_o7_a_password_is_reported_where_its_file_tells_it_and_quoted_nowhere(story: Story) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n"})
    curl, secret, php, terraform = (f"Wq7k-{some(8)}" for _ in range(4))
    files = {
        "deploy.sh": f"set -e\ncurl -u alice:{curl} https://shop.io/api\n",
        "k8s/db.yaml": f"kind: Secret\nstringData:\n  user: alice\n  key: {secret}\n",
        "wp-config.php": f"<?php\ndefine('DB_PASSWORD', '{php}');\n",
        "infra/main.tf": f'variable "db_password" {{\n  type = string\n  default = "{terraform}"\n}}\n',
        "app/settings.ini": "[db]\npassword = ${DB_PASSWORD}\n",
    }
    pull, _ = await story.propose(repository, alice, files)
    assert first_lines(story.reviews(pull)) == snapshot(["**Changes requested: 4 findings to fix.**"])
    [comment] = story.comments(pull)
    assert (comment.path, comment.line) == ("deploy.sh", 2)
    assert all(place in comment.body for place in ("`infra/main.tf:3`", "`k8s/db.yaml:4`", "`wp-config.php:2`"))
    posted = collect_posts(story, repository, pull)
    assert not any(each in posted for each in (curl, secret, php, terraform))
