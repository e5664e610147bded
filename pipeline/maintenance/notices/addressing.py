"""Finds the targets that want a notice, and where each of them is reached now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.config.sections import NotifiedTarget
from domain.notices import Notice, NoticeFormat, NoticeTarget, NoticeType, chooses, make_key, parse_key
from domain.runs.run import RepositoryRef
from pipeline.config import loading
from pipeline.context import Services

NOT_DEFINED = "the operator defines no target of this name any more (FORGE_NOTIFY_TARGETS)"
NOT_NAMED = "the repository's configuration names it no more, or may not"


@dataclass(frozen=True)
class NoticeAddress:
    """Where a target is reached."""

    url: str = field(repr=False)
    format: NoticeFormat
    secret: bytes = field(repr=False)


class AddressBook:
    """The targets of the operator, and of the last configurations of repositories, each of which it reads once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._access = services.notices
        self._configured: dict[int, Sequence[NotifiedTarget]] = {}

    async def list_wanting(self, notice: Notice) -> Sequence[str]:
        """The keys of the targets that want a notice, each once."""
        wanting = [each.name for each in self._access.targets.values() if each.wants(notice.type, notice.severity)]
        if notice.repository is not None:
            for each in await self._load(notice.repository):
                key = self._find_key(each, notice.repository)
                if key and chooses(each.events, notice.type) and notice.severity.reaches(each.least):
                    wanting.append(key)
        return list(dict.fromkeys(wanting))

    async def find_address(self, key: str, notice: Notice) -> NoticeAddress | str:
        """Where a target is reached for a notice, or why it may not get it any more."""
        number, name = parse_key(key)
        if number:
            repository = notice.repository
            is_named = repository is not None and key in await self._list_keys(repository)
            return NoticeAddress(name, NoticeFormat.json, self._access.make_secret(key)) if is_named else NOT_NAMED
        target = self._access.targets.get(name)
        if target is None:
            return NOT_DEFINED
        return self._reach(target) if await self._may_get(target, notice) else NOT_NAMED

    async def _may_get(self, target: NoticeTarget, notice: Notice) -> bool:
        is_own = notice.type in {NoticeType.more, NoticeType.test} and bool(target.events)
        if is_own or target.wants(notice.type, notice.severity):
            return True
        return notice.repository is not None and target.name in await self._list_keys(notice.repository)

    def _reach(self, target: NoticeTarget) -> NoticeAddress:
        return NoticeAddress(target.url, target.format, target.secret or self._access.make_secret(target.name))

    async def _list_keys(self, repository: RepositoryRef) -> set[str]:
        return {key for each in await self._load(repository) if (key := self._find_key(each, repository))}

    def _find_key(self, configured: NotifiedTarget, repository: RepositoryRef) -> str:
        """The key of a target that a repository names; empty if the operator does not let it."""
        if configured.url is not None:
            return make_key(repository, configured.url)
        target = self._access.targets.get(configured.target or "")
        return target.name if target is not None and target.allows(repository) else ""

    async def _load(self, repository: RepositoryRef) -> Sequence[NotifiedTarget]:
        if repository.id not in self._configured:
            configuration = await loading.load_stored(self._services.database, repository)
            self._configured[repository.id] = configuration.notify.targets
        return self._configured[repository.id]
