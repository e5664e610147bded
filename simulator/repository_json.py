"""GitHub's JSON shapes of accounts, repositories, issues and installations."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.state import (
    Account,
    App,
    Installation,
    Issue,
    IssueComment,
    Json,
    Label,
    PullRequest,
    Reaction,
    Repository,
    World,
    copy,
    timestamp,
)

MERGE_SETTINGS = {"allow_merge_commit": "merge", "allow_squash_merge": "squash", "allow_rebase_merge": "rebase"}
REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def account(world: World, who: Account) -> Json:
    return {
        **copy(who, "login id type"),
        "node_id": f"U_{who.id}",
        "avatar_url": f"{world.url}/avatars/u/{who.id}",
        "gravatar_id": "",
        "url": f"{world.api_url}/users/{who.login}",
        "html_url": f"{world.url}/{who.login}",
        "repos_url": f"{world.api_url}/users/{who.login}/repos",
        "events_url": f"{world.api_url}/users/{who.login}/events{{/privacy}}",
        "received_events_url": f"{world.api_url}/users/{who.login}/received_events",
        "user_view_type": "public",
        "site_admin": False,
    }


def organization(world: World, who: Account) -> Json:
    return {
        "login": who.login,
        "id": who.id,
        "node_id": f"O_{who.id}",
        "url": f"{world.api_url}/orgs/{who.login}",
        "repos_url": f"{world.api_url}/orgs/{who.login}/repos",
        "avatar_url": f"{world.url}/avatars/u/{who.id}",
        "description": None,
    }


def app(world: World, found: App) -> Json:
    return {
        **copy(found, "id client_id slug name"),
        "node_id": f"A_{found.id}",
        "owner": account(world, found.owner),
        "description": None,
        "external_url": f"{world.url}/apps/{found.slug}",
        "html_url": f"{world.url}/apps/{found.slug}",
        "created_at": "2024-01-01T00:00:00Z",
        "updated_at": "2024-01-01T00:00:00Z",
        "permissions": dict(found.permissions),
        "events": list(found.events),
    }


def installation(world: World, found: Installation) -> Json:
    return {
        **copy(found, "id created_at suspended_at"),
        "client_id": found.app.client_id,
        "account": account(world, found.account),
        "repository_selection": "all" if found.has_all else "selected",
        "access_tokens_url": f"{world.api_url}/app/installations/{found.id}/access_tokens",
        "repositories_url": f"{world.api_url}/installation/repositories",
        "html_url": f"{world.url}/settings/installations/{found.id}",
        "app_id": found.app.id,
        "app_slug": found.app.slug,
        "target_id": found.account.id,
        "target_type": found.account.type,
        "permissions": dict(found.permissions),
        "events": list(found.app.events),
        "updated_at": timestamp(found.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None,
    }


def brief_repository(found: Repository) -> Json:
    return {
        **copy(found, "id name full_name private"),
        "node_id": f"R_{found.id}",
    }


def repository(world: World, found: Repository) -> Json:
    url = f"{world.api_url}/repos/{found.full_name}"
    html = f"{world.url}/{found.full_name}"
    forks = sum(1 for other in world.repositories.values() if other.parent is found and not other.deleted)
    open_issues = sum(1 for issue in found.issues.values() if issue.state == "open")
    return {
        **brief_repository(found),
        "owner": account(world, found.owner),
        "html_url": html,
        "description": None,
        "fork": found.parent is not None,
        "url": url,
        "collaborators_url": f"{url}/collaborators{{/collaborator}}",
        "branches_url": f"{url}/branches{{/branch}}",
        "git_refs_url": f"{url}/git/refs{{/sha}}",
        "commits_url": f"{url}/commits{{/sha}}",
        "comments_url": f"{url}/comments{{/number}}",
        "issue_comment_url": f"{url}/issues/comments{{/number}}",
        "contents_url": f"{url}/contents/{{+path}}",
        "compare_url": f"{url}/compare/{{base}}...{{head}}",
        "issues_url": f"{url}/issues{{/number}}",
        "pulls_url": f"{url}/pulls{{/number}}",
        "labels_url": f"{url}/labels{{/name}}",
        "deployments_url": f"{url}/deployments",
        "git_url": f"{html}.git",
        "clone_url": f"{html}.git",
        **copy(found, "created_at has_issues archived default_branch"),
        "updated_at": timestamp(found.created_at),
        "pushed_at": timestamp(found.created_at),
        "size": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "language": None,
        "homepage": None,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": False,
        "has_discussions": False,
        "forks_count": forks,
        "forks": forks,
        "disabled": False,
        "open_issues_count": open_issues,
        "open_issues": open_issues,
        "license": None,
        "allow_forking": True,
        "topics": [],
        "visibility": "private" if found.private else "public",
    }


def full_repository(world: World, found: Repository, permissions: Json) -> Json:
    parent = {} if found.parent is None else {"parent": repository(world, found.parent)}
    merging = {setting: way in found.merge_methods for setting, way in MERGE_SETTINGS.items()}
    shape = repository(world, found)
    watched = {"network_count": shape["forks_count"], "subscribers_count": 0}
    return {**shape, "permissions": permissions, **merging, **watched, **parent}


def role_booleans(found: Repository, who: Account) -> Json:
    return {
        "admin": found.allows(who, "admin"),
        "maintain": found.allows(who, "maintain"),
        "push": found.allows(who, "write"),
        "triage": found.allows(who, "triage"),
        "pull": found.allows(who, "read"),
    }


def collaborator(world: World, found: Repository, who: Account) -> Json:
    role_name = found.custom_roles.get(who.id, found.role_of(who))
    return {**account(world, who), "permissions": role_booleans(found, who), "role_name": role_name}


def label(world: World, owner: Repository, found: Label) -> Json:
    return {
        **copy(found, "id name color description"),
        "node_id": f"LA_{found.id}",
        "url": f"{world.api_url}/repos/{owner.full_name}/labels/{found.name}",
        "default": False,
    }


def reaction(world: World, found: Reaction) -> Json:
    return {
        **copy(found, "id content created_at"),
        "node_id": f"REA_{found.id}",
        "user": account(world, found.user),
    }


def reactions(url: str, found: Iterable[Reaction]) -> Json:
    contents = [item.content for item in found]
    counts = {content: contents.count(content) for content in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(contents), **counts}


def association(world: World, owner: Repository, who: Account, pull: bool = False) -> str:
    """How the account relates to the repository, as `author_association` tells it."""
    if who is owner.owner:
        return "OWNER"
    if who.id in owner.owner.members | owner.owner.owners:
        return "MEMBER"
    if who.id in owner.roles:
        return "COLLABORATOR"
    if any(other.user is who and other.merged_at for other in owner.pulls()):
        return "CONTRIBUTOR"
    return "FIRST_TIME_CONTRIBUTOR" if pull and who.type == "User" else "NONE"


def issue(world: World, found: Issue) -> Json:
    url = f"{world.api_url}/repos/{found.repository.full_name}/issues/{found.number}"
    is_pull = isinstance(found, PullRequest)
    kind = "pull" if is_pull else "issues"
    shape: Json = {
        "url": url,
        "repository_url": f"{world.api_url}/repos/{found.repository.full_name}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": f"{world.url}/{found.repository.full_name}/{kind}/{found.number}",
        **copy(found, "id number title state locked created_at updated_at closed_at body"),
        "node_id": f"{'PR' if is_pull else 'I'}_{found.id}",
        "user": account(world, found.user),
        "labels": [label(world, found.repository, item) for item in found.labels],
        "state_reason": "completed" if found.state == "closed" and not is_pull else None,
        "assignee": account(world, found.assignees[0]) if found.assignees else None,
        "assignees": [account(world, who) for who in found.assignees],
        "milestone": None,
        "comments": len(found.comments),
        "author_association": association(world, found.repository, found.user),
        "active_lock_reason": None,
        "reactions": reactions(url, found.reactions),
        "performed_via_github_app": app(world, found.app) if found.app else None,
    }
    if isinstance(found, PullRequest):
        pull_url = f"{world.api_url}/repos/{found.repository.full_name}/pulls/{found.number}"
        shape["draft"] = found.draft
        shape["pull_request"] = {
            "url": pull_url,
            "html_url": shape["html_url"],
            "diff_url": f"{shape['html_url']}.diff",
            "patch_url": f"{shape['html_url']}.patch",
            "merged_at": timestamp(found.merged_at),
        }
    return shape


def issue_comment(world: World, found: IssueComment) -> Json:
    repository_url = f"{world.api_url}/repos/{found.repository.full_name}"
    url = f"{repository_url}/issues/comments/{found.id}"
    kind = "pull" if isinstance(found.issue, PullRequest) else "issues"
    html = f"{world.url}/{found.repository.full_name}/{kind}/{found.issue.number}"
    return {
        "url": url,
        "html_url": f"{html}#issuecomment-{found.id}",
        "issue_url": f"{repository_url}/issues/{found.issue.number}",
        **copy(found, "id created_at updated_at body"),
        "node_id": f"IC_{found.id}",
        "user": account(world, found.user),
        "author_association": association(world, found.repository, found.user),
        "reactions": reactions(url, found.reactions),
        "performed_via_github_app": app(world, found.app) if found.app else None,
    }
