"""Makes the large repositories that shadows are measured in."""

import subprocess
from pathlib import Path


def make_repository(tree: Path, count: int) -> str:
    """A repository with so many small files; its only commit."""
    for number in range(count):
        path = tree / f"src/part{number // 100}/file{number % 100}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * 10)
    run = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@localhost"]
    subprocess.run([*run, "init", "--quiet", "--initial-branch=main"], check=True)
    subprocess.run([*run, "add", "--all"], check=True)
    subprocess.run([*run, "commit", "--quiet", "--message", "All"], check=True)
    return subprocess.check_output([*run, "rev-parse", "HEAD"], text=True).strip()
