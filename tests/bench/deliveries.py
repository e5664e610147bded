"""The webhook that benchmarks of the door send."""

from simulator import Simulator


async def record_delivery(github: Simulator) -> bytes:
    """Open a pull request; the body of the delivery that tells of it."""
    repo = github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
    github.install(repo)
    alice = github.user("alice")
    github.grant(repo, alice, "write")
    await alice.push(repo, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repo, head="feature", base="main", title="A change")
    return next(each.raw for each in github.deliveries if each.event == "pull_request")
