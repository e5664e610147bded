"""What a model says of a whole change where somebody asks: ``/forge describe`` and ``/forge walkthrough``."""

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.issues import SHOP
from tests.world.replies import bodies, mask

DESCRIBES, WALKS = "== sections to write", "== seam 1"
TEMPLATE = """\
<!-- Thank you for the change. -->
## What

<!-- Say what it does. -->

## Checks

- [ ] I read the guide
- [ ] I added tests
"""
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CART = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n"
DRAFT: dict[str, JsonValue] = {
    "title": "Take a discount off the total, as @octo-org/team asked",
    "sections": [
        {
            "heading": "What",
            "text": "`total` takes a share off, see #1 and #77.\n\n- Callers need no change\n- [x] I added tests\n"
            f"- Fixes #1, Closes #77, <b>{KEY}</b>, ask @octo-org/team",
        },
        {"heading": "Praise", "text": "A great change."},
    ],
}


async def open_change(story: Story, body: str, **files: str) -> tuple[Repository, User, User, PullRequest]:
    """A pull request of ann's, who may only read, and carol, who may write."""
    repository, owner = story.repository({**SHOP, **files})
    ann, carol = story.github.user("ann"), story.github.user("carol")
    story.github.grant(repository, carol, "write")
    await owner.open_issue(repository, "Discounts", "Customers want a discount on the whole cart.")
    await owner.push(repository, "feature", {"shop/cart.py": CART, "NOTES.md": "Discounts.\n"}, base="main")
    pull = await story.after(ann.open_pull_request(repository, "feature", title="Discounts", body=body))
    story.pass_over(pull)
    return repository, ann, carol, pull


async def test_a_description_is_proposed_and_taken(story: Story, model: ScriptedModel) -> None:
    """The template's headings and what a person wrote stay; nothing in a model's words acts, or is a secret."""
    written = TEMPLATE.replace("[ ] I read", "[x] I read").replace("## Checks", "Refs #1\r\n\r\n## Checks")
    _, ann, carol, pull = await open_change(story, written, **{".github/PULL_REQUEST_TEMPLATE.md": TEMPLATE})
    model.when(DESCRIBES, DRAFT)
    await story.after(story.github.user("reader").comment(pull, "/forge describe"))
    assert [call for call in model.calls if DESCRIBES in call.content] == []
    await story.after(ann.comment(pull, "/forge describe"))
    assert bodies(story.answers(pull)) == snapshot(
        [
            "Refused: `/forge describe` needs the role write, or whoever opened it; `reader` has read.",
            """\
Title: `Take a discount off the total, as @ octo-org/team asked`

> ## What
>
> `total` takes a share off, see #1 and `#77`.
>
> - Callers need no change
> - \\[x\\] I added tests
> - Fixes issue #1, Closes `#77`, &lt;b&gt;\\[redacted: GitHub token\\]&lt;/b&gt;, ask `@octo-org/team`
>
> ## Checks
>
> - [ ] I read the guide
> - [ ] I added tests

<details><summary>The source of the whole description</summary>

```markdown


## What

Refs #1

`total` takes a share off, see #1 and `#77`.

- Callers need no change
- \\[x\\] I added tests
- Fixes issue #1, Closes `#77`, &lt;b&gt;\\[redacted: GitHub token\\]&lt;/b&gt;, ask `@octo-org/team`

## Checks

- [x] I read the guide
- [ ] I added tests
```

</details>

`/forge describe apply` sets both, as long as nobody changes them before.

<sub>A model wrote it from `SHA`. What people wrote in the description stays.</sub>\
""",
        ]
    )
    [asked] = [call.content for call in model.calls if DESCRIBES in call.content]
    assert "- what\n- checks" in asked
    assert "+def total(prices, discount=0):" in asked
    assert pull.title == "Discounts"

    await story.after(carol.comment(pull, "/forge describe apply"))
    assert bodies(story.answers(pull))[-1] == snapshot(
        "Title and description are set. GitHub shows the ones before under “edited”."
    )
    assert (pull.title, pull.body) == snapshot(
        (
            "Take a discount off the total, as @ octo-org/team asked",
            """\
<!-- Thank you for the change. -->

## What

Refs #1

<!-- written by Forge -->
`total` takes a share off, see #1 and `#77`.

- Callers need no change
- \\[x\\] I added tests
- Fixes issue #1, Closes `#77`, &lt;b&gt;\\[redacted: GitHub token\\]&lt;/b&gt;, ask `@octo-org/team`
<!-- end of what Forge wrote -->

## Checks

- [x] I read the guide
- [ ] I added tests\
""",
        )
    )
    await story.after(ann.comment(pull, "/forge describe apply"))
    assert bodies(story.answers(pull))[-1] == snapshot(
        "Title and description are what Forge proposed already. `/forge describe` proposes others."
    )
    assert len([call for call in model.calls if DESCRIBES in call.content]) == 1
    story.pass_over(pull)


async def test_a_description_that_changed_meanwhile_is_proposed_anew(story: Story, model: ScriptedModel) -> None:
    """Without a template, too: what a person writes stands first, and at level 0 Forge sets nothing."""
    repository, ann, carol, pull = await open_change(story, "")
    model.when(DESCRIBES, {"title": "Take a discount", "sections": [{"text": "`total` takes a share off."}]})
    await story.after(ann.comment(pull, "/forge describe"))
    await ann.edit(pull, body="Closes #1\n\nIt was time.")
    await story.after(carol.comment(pull, "/forge describe apply"))
    first, again = bodies(story.answers(pull))
    assert "`total` takes a share off." in first
    assert again == snapshot("""\
Nothing is set yet: nothing was proposed for this head and description. The same command sets this new proposal:

Title: `Take a discount`

> `total` takes a share off.

<details><summary>The source of the whole description</summary>

```markdown
Closes #1

It was time.

`total` takes a share off.
```

</details>

`/forge describe apply` sets both, as long as nobody changes them before.

<sub>A model wrote it from `SHA`. What people wrote in the description stays.</sub>\
""")
    assert pull.title == "Discounts"
    assert "Customers want a discount" in [call.content for call in model.calls if DESCRIBES in call.content][1]

    story.github.grant(repository, carol, "admin")
    await story.after(carol.comment(pull, "/forge level 0\n/forge describe apply"))
    assert bodies(story.answers(pull))[-1].startswith("Nothing was set, because automation is at level 0 here")
    assert pull.title == "Discounts"
    story.pass_over(pull)


async def test_a_walkthrough_is_one_comment(story: Story, model: ScriptedModel) -> None:
    """It names only what the change has, says what it leaves out, and follows the head where it stands."""
    repository, ann, carol, pull = await open_change(story, "")
    walk: dict[str, JsonValue] = {
        "parts": [
            {
                "title": "The total",
                "what": "`total` takes a share off. Ask @octo-org/team.",
                "files": [
                    {"path": "shop/cart.py", "first_line": 2, "last_line": 2, "why": "takes it off"},
                    {"path": "shop/secret.env", "why": "is not in the change"},
                ],
                "hardest": "a discount above 1",
            },
            {"title": "Nothing", "what": "It is invented.", "files": [{"path": "gone.py"}]},
        ]
    }
    model.when(WALKS, walk)
    await story.after(ann.comment(pull, "/forge walkthrough"))
    assert "needs the role write" in story.answers(pull)[-1].body
    await story.after(carol.comment(pull, "/forge walkthrough"))
    assert bodies(story.answers(pull))[-1] == snapshot("""\
**Walkthrough** of `SHA`: one part.

**1. The total**

`total` takes a share off. Ask `@octo-org/team`.

1. `shop/cart.py:2`: takes it off

Look hardest at: a discount above 1

<details><summary>Left out: 1</summary>

- `NOTES.md`: text, which the model does not review

</details>

<sub>A model wrote it from the diff. After a push, `/forge walkthrough` brings it up to date.</sub>\
""")
    before = story.answers(pull)[-1]

    owner = story.github.user("alice")
    await story.after(owner.push(repository, "feature", {"shop/rates.py": "RATE = 2\n"}))
    model.when(WALKS, walk)
    await story.after(carol.comment(pull, "/forge walkthrough"))
    assert story.answers(pull)[-1].id == before.id
    assert f"`{pull.head_sha[:7]}`" in before.body
    assert "- `shop/rates.py`: the model explains it in no part" in mask(before.body)
    story.pass_over(pull)


async def test_of_documents_alone_the_model_sees_the_words(story: Story, model: ScriptedModel) -> None:
    repository, _, carol, _ = await open_change(story, "")
    pull, _ = await story.propose(
        repository, carol, {"GUIDE.md": "Rates are net.\n"}, "words", title="Say what rates are"
    )
    model.when(DESCRIBES, {"title": "Say that rates are net", "sections": []})
    await story.after(carol.comment(pull, "/forge describe"))
    [asked] = [call.content for call in model.calls if DESCRIBES in call.content]
    assert "+Rates are net." in asked
    story.pass_over(pull)


async def test_without_a_model_it_is_said_plainly(story: Story) -> None:
    _, _, carol, pull = await open_change(story, "")
    for verb in ("describe", "walkthrough", "tests", "changelog"):
        await story.after(carol.comment(pull, f"/forge {verb}"))
    assert bodies(story.answers(pull)) == snapshot(
        [
            "No answer: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set.",
            "No answer: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set.",
            "Nothing was changed: a model carries such instructions out. anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set.",
            "Nothing was done: this repository has no changelog that Forge knows: no `CHANGELOG.md` or its like, no folder of fragments, no `.changeset/`.",
        ]
    )
    story.pass_over(pull)
