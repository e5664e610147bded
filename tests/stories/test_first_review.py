from tests.stories.driver import Story


async def test_opened(told: Story) -> None:
    repo = told.github.create_repository("octo-org/shop", files={"app.py": "import os\n\n\ndef main():\n    return os.name\n"})
    told.github.install(repo)
    alice = told.github.user("alice")
    told.github.grant(repo, alice, "write")
    head = await alice.push(repo, "feature", {"app.py": "import os\nimport sys\n\n\ndef main():\n    eval(input())\n    return os.name\n"}, message="Add", base="main")
    pull = await alice.open_pull_request(repo, head="feature", base="main", title="t")
    await told.rest()
    check = told.check(repo, head)
    assert len(told.comments(pull)) == 2
    assert check.conclusion == "success"
