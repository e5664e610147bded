"""Which files decide what is run and who may do what, and which only look like it."""

import pytest

from domain.globs import find_mistake
from domain.review.changes import TouchedFile
from domain.review.reading import Impact
from safety.impact import assess_impact
from safety.protected_files import TABLE, decides_about_runs, explain_protection, select_asked

ASKS = [
    ".github/workflows/ci.yml",
    ".github/actions/a/run.sh",
    "lib/action.yaml",
    ".github/dependabot.yml",
    ".github/forge.yml",
    ".gitmodules",
    "a/.gitattributes",
    "CODEOWNERS",
    "docs/CODEOWNERS",
    "pkg/OWNERS",
    ".github/settings.yml",
    ".github/mergify.yml",
    ".mergify.yml",
    ".kodiak.toml",
    ".github/bors.toml",
    ".asf.yaml",
    ".circleci/config.yml",
    ".buildkite/pipeline.yml",
    "azure-pipelines.yml",
    "ci/azure-pipelines-release.yaml",
    ".travis.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    "deploy/Jenkinsfile.prod",
    "cloudbuild.yaml",
    "buildspec.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    ".appveyor.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker/test.yml",
    "wercker.yml",
    "codefresh.yml",
    ".semaphore/semaphore.yml",
    ".cirrus.yml",
    ".teamcity/settings.kts",
    ".tekton/push.yaml",
    ".forgejo/workflows/a.yml",
    ".taskcluster.yml",
    ".builds/a.yml",
    "vercel.json",
    "web/netlify.toml",
    "render.yaml",
    ".do/app.yaml",
    "bamboo-specs/bamboo.yml",
    ".ebextensions/a.config",
    "app.json",
    "Procfile",
    ".tugboat/config.yml",
    ".terrateam/config.yml",
    "env0.yml",
    "digger.yml",
    "okteto.yml",
    "Pulumi.yaml",
    "infra/Pulumi.prod.yaml",
    ".qovery.yml",
    "pantheon.yml",
    "acquia-pipelines.yml",
    ".ci-operator.yaml",
    ".copr/Makefile",
    "now.json",
    ".github/auto-approve.yml",
    ".github/approve.yml",
    ".lgtm",
    ".gitconsensus.yml",
    ".cm/approve.cm",
    ".github/autoapproval.yml",
    ".github/mergeable.yml",
    ".zappr.yaml",
    ".coderabbit.yaml",
    ".pr_agent.toml",
    ".lighthouse/jenkins-x/triggers.yaml",
    ".deployment",
    "railpack.json",
    "web/.deployment",
    "web/railpack.json",
    "web/nixpacks.toml",
    "web/railway.json",
    "web/Procfile",
    "infra/render.yaml",
    ".werft/build.yaml",
    ".pipelines/release.yml",
]
UNKNOWN = [
    ".workflow.yml",
    ".mergelint.yml",
    ".approver.yml",
    ".approver",
    ".Approver/rules/a.star",
    ".github/approver.toml",
    ".github/approver/rules.yaml",
]
"""Where the next App or CI keeps its settings."""
KEPT_FROM_AGENTS = [
    ".pre-commit-config.yaml",
    ".husky/pre-commit",
    ".vscode/tasks.json",
    ".devcontainer/devcontainer.json",
    ".envrc",
    ".npmrc",
    "app/.npmrc",
    ".cargo/config.toml",
    ".mcp.json",
    "CLAUDE.md",
    "lib/AGENTS.md",
    ".cursor/rules/a.mdc",
    ".github/copilot-instructions.md",
    "renovate.json",
    ".github/renovate.json5",
    ".claude/settings.json",
    "WARP.md",
    "pnpm-workspace.yaml",
    "app/.pnp.cjs",
    ".openhands/setup.sh",
    ".gemini/settings.json",
    ".windsurf/rules.md",
    ".aider.conf.yml",
    ".gitpod.yml",
    ".yarnrc.yml",
    ".yarn/releases/yarn-4.cjs",
    "pip.conf",
    "app/pip.ini",
    "uv.toml",
    "pdm.toml",
    "app/.pdm.toml",
    "bunfig.toml",
    ".bundle/config",
    ".pypirc",
    ".mvn/extensions.xml",
    "lefthook.yml",
    ".goreleaser.yml",
    "mise.toml",
    ".idea/runConfigurations/a.xml",
    ".pnpmfile.cjs",
    ".readthedocs.yaml",
    ".lintstagedrc.json",
    ".codex/config.toml",
    ".claude-plugin/plugin.json",
    ".roomodes",
    ".kilocode/mcp.json",
    ".agent/rules/a.md",
    "crush.json",
    ".warp/workflows/a.yaml",
    ".serena/project.yml",
    "conductor.json",
]
FREE = [
    "README.md",
    "docs/workflows.md",
    "src/travis.yml.py",
    "circleci/client.go",
    "lib/settings.yml",
    "src/action.py",
    "vscode/a.ts",
    "package.json",
    "Dockerfile",
    "src/owners.py",
    "npmrc.md",
    "docs/pip.md",
    "policy.yml",
    "web/app.json",
    "mypy.ini",
    "husky/a.js",
    "src/claude/client.py",
    "tests/jenkinsfile_test.go",
    ".github/ISSUE_TEMPLATE/bug.yml",
    ".editorconfig",
    ".prettierrc",
    ".verb.md",
    ".doctrine-project.json",
    ".gitignore",
    ".golangci.yml",
    ".rustfmt.toml",
    ".cspell.json",
    ".markdownlint-cli2.yaml",
    ".eslintrc.cjs",
    ".rubocop_todo.yml",
    ".python-version",
    ".python-version-default",
    ".git-blame-ignore-revs",
    ".release-please-manifest.json",
    ".storybook/main.js",
    ".changeset/a.md",
    ".github/FUNDING.yml",
    ".github/release-drafter.yml",
    ".github/pull_request_template.md",
    "src/.approver.yml",
    "src/.config/a.py",
    "releases/a.md",
]


def test_everybody_is_asked() -> None:
    assert [path for path in ASKS if not decides_about_runs(path)] == []
    assert [path for path in ASKS if select_asked([path], ()) != [path]] == []
    pushed = "commands on each pushed branch, with the secrets of the project there"
    assert explain_protection(".travis.yml") == f"Travis CI: {pushed}"
    assert explain_protection("core/a.c") == "named in `paths.protected`"
    assert explain_protection(".unheard-of.yml") == "its name begins with a dot, so a program or a model may obey it"


def test_the_next_app_or_ci_is_asked_about_by_where_its_settings_lie() -> None:
    assert [path for path in UNKNOWN if not decides_about_runs(path) or select_asked([path], ()) != [path]] == []


def test_only_agents_are_kept_from() -> None:
    assert [path for path in KEPT_FROM_AGENTS if not decides_about_runs(path)] == []
    assert [path for path in KEPT_FROM_AGENTS if select_asked([path], ())] == []


def test_left_alone() -> None:
    assert [path for path in FREE if decides_about_runs(path) or select_asked([path], ())] == []


@pytest.mark.parametrize(
    "path",
    [
        ".GitHub/Workflows/ci.yml",
        ".github./workflows/ci.yml",
        ".github/workflows /ci.yml",
        ".github/work\u200bflows/ci.yml",
        ".github\u3164/workflows/ci.yml",
        ".github/wor\u212aflows/ci.yml",  # the sign of kelvin
        ".github/\u017fettings.yml",  # a long s
        ".CircleCI/config.yml. ",
        "CodeOwners",
    ],
)
def test_disks_that_forgive_are_thought_of(path: str) -> None:
    assert select_asked([path], ()) == [path]


def test_so_is_what_forge_itself_obeys() -> None:
    assert select_asked([".github/forge-memory.md"], ()) == [".github/forge-memory.md"]


def test_what_a_repository_names_is_blind_to_case_too() -> None:
    assert select_asked(["Infra/a.tf", "lib/a.tf"], ["infra/**"]) == ["Infra/a.tf"]


def test_a_change_of_them_is_never_harmless() -> None:
    """Neither where a syntax tree says that only comments changed, nor where the name is that of a document."""
    files = [TouchedFile(path=path, lines=1) for path in (".vscode/tasks.json", "AGENTS.md", "a.json")]
    found = assess_impact(files, {file.path: Impact.layout for file in files})
    assert found == {".vscode/tasks.json": "behaviour", "AGENTS.md": "behaviour", "a.json": "layout"}


def test_each_pattern_can_match_and_stands_once() -> None:
    patterns = [pattern for row in TABLE for pattern in row.patterns]
    assert not [pattern for pattern in patterns if find_mistake(pattern)]
    assert len(patterns) == len(set(patterns))
