"""The line that tells what the change of a lock file comes to, which nobody reads and GitHub folds."""

from collections.abc import Sequence

from domain.review.locked_packages import LockChange, PackageMove
from domain.text.escaping import escape, inline_code, inline_path

_MOST_FILES = 5
_VERSION = 40  # characters of one


def render_locks(locks: Sequence[LockChange]) -> str:
    """A line for each lock file; nothing where a change has none."""
    rows = [f"**{inline_path(each.path)}:** {_tell(each)}" for each in locks[:_MOST_FILES]]
    left = len(locks) - len(rows)
    return "\n\n".join([*rows, *([f"And {left} more lock file{'' if left == 1 else 's'}."] if left > 0 else [])])


def _tell(lock: LockChange) -> str:
    if lock.is_new:
        return f"new, with {lock.count:,} package{'' if lock.count == 1 else 's'}."
    told = ", ".join(map(_tell_move, lock.moves)) or "no version changed"
    more = f" and {lock.count - len(lock.moves):,} more" if lock.count > len(lock.moves) else ""
    hosts = f" For the first time from {', '.join(map(inline_code, lock.hosts))}." if lock.hosts else ""
    return f"{told}{more}.{hosts}"


def _tell_move(move: PackageMove) -> str:
    name, before, after = inline_code(move.name), _join(move.before), _join(move.after)
    if move.before and move.after:
        return f"{name} {before} → {after}"
    return f"{name} {after} is new" if move.after else f"{name} {before} is gone"


def _join(versions: Sequence[str]) -> str:
    return " and ".join(escape(version, _VERSION) for version in versions)
