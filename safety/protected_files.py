"""The files that decide what is run and who may do what: what reads each, with which secrets, and who is asked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.globs import join_patterns, matches
from domain.paths import fold_path


@dataclass(frozen=True)
class ProtectedFiles:
    """Files with one reader.

    Forge's own agents, external ones in the shadow included, never change them unasked, a plan that names one is of
    high risk, and a pull request that changes one is not of low risk.

    :param reader: the program that obeys them.
    :param patterns: globs of their paths; case does not count.
    :param runs: what it does with them, when, and with which secrets.
    :param asks: a pull request of people that changes them asks the gate ``protected_paths``, too.
    :param why: why it asks, or why not.
    """

    reader: str
    patterns: tuple[str, ...]
    runs: str
    asks: bool
    why: str


_BEFORE_REVIEW = "it runs with secrets before anybody reads it"
_PUSHED = "commands on each pushed branch, with the secrets of the project there"
_AFTER_REVIEW = (
    "it acts on a person's machine, after that person fetched the branch, with their rights; every team edits it"
)
_OBEYED = "no program runs it; every team edits it, and a model reads the change"


def _ci(reader: str, *patterns: str) -> ProtectedFiles:
    return ProtectedFiles(reader, patterns, _PUSHED, True, _BEFORE_REVIEW)


STEERS_GIT = (".gitmodules", ".lfsconfig", "**/.gitattributes")
"""Files that control what git fetches and what a review sees; agents never change them."""

TABLE = (
    ProtectedFiles(
        "GitHub Actions",
        (".github/workflows/**", ".github/actions/**", "**/action.yml", "**/action.yaml"),
        "jobs on a push or another event, with the repository's secrets and a token of its own",
        True,
        _BEFORE_REVIEW,
    ),
    ProtectedFiles(
        "Dependabot",
        (".github/dependabot.yml", ".github/dependabot.yaml"),
        "where dependencies come from, with the secrets of private registries, if it has any",
        True,
        "it decides to whom these secrets are sent",
    ),
    ProtectedFiles(
        "Forge",
        (".github/forge.yml", ".github/forge-memory.md"),
        "gates, budgets, commands and what models are told",
        True,
        "it decides what Forge itself asks",
    ),
    ProtectedFiles(
        "git",
        STEERS_GIT,
        "how files are stored and shown, and which others are fetched",
        True,
        "it can hide the rest of the change; agents never change it, not even where a person lets them",
    ),
    ProtectedFiles(
        "GitHub's code owners, and owners as Prow reads them",
        ("CODEOWNERS", "{.github,.gitlab,docs}/CODEOWNERS", "**/OWNERS", "**/OWNERS_ALIASES"),
        "whose approval a change needs",
        True,
        "it decides who may approve",
    ),
    ProtectedFiles(
        "Apps that keep a repository's settings",
        (
            *(".github/settings.{yml,yaml}", ".github/safe-settings/**", ".github/repos/**", ".github/suborgs/**"),
            *(".asf.yaml", ".allstar/**", ".github/allstar/**"),
        ),
        "roles, branch protections and visibility, with an administrator's rights, once it is merged",
        True,
        "it decides who may do what",
    ),
    ProtectedFiles(
        "Apps that approve and merge",
        (
            *(".mergify.{yml,yaml}", ".mergify/**", ".github/mergify.{yml,yaml}", "{.github/,}{.,}bulldozer.yml"),
            *("{.github/,}.kodiak.toml", "{.github/,}bors.toml", ".policy.yml", ".prow.yaml", ".prow/**"),
            *(".pullapprove.{yml,yaml}", ".aviator/**", ".github/{auto-merge,automerge}.{yml,yaml}"),
            *(".github/{auto-approve,autoapproval,approve}.{yml,yaml}", ".lgtm", ".gitconsensus.{yml,yaml}"),
            *(".cm/**", "**/*.cm", "{.github/,}{.,}mergeable.{yml,yaml}", ".zappr.{yml,yaml}"),
            *(".coderabbit.{yml,yaml}", "{.,}pr_agent.toml"),
        ),
        "what may be merged by whom, with rights to write",
        True,
        "it decides who may approve",
    ),
    _ci("CircleCI", ".circleci/**"),
    _ci("Buildkite", ".buildkite/**", "buildkite{,/pipeline}.{yml,yaml,json}"),
    _ci(
        "Azure Pipelines",
        *(
            "**/azure-pipelines*.{yml,yaml}",
            "{.,}azure-pipelines/**",
            ".azuredevops/**",
            ".azure/pipelines{/**,.yml,.yaml}",
        ),
        ".vsts-ci.{yml,yaml}",
        ".vsts-ci/**",
    ),
    _ci("Travis CI", ".travis.{yml,yaml}"),
    _ci("GitLab CI, of a mirror", "**/*.gitlab-ci*.{yml,yaml}", ".gitlab-ci/**", ".gitlab/ci/**"),
    _ci("Jenkins", "**/Jenkinsfile{,.*,-*}", "**/*.jenkinsfile", ".jenkins/**"),
    _ci("Google Cloud Build", "**/cloudbuild*.{yml,yaml,json}", ".cloudbuild/**"),
    _ci("AWS CodeBuild and Amplify", "**/buildspec*.{yml,yaml}", "amplify.{yml,yaml}"),
    _ci("Bitbucket Pipelines, of a mirror", "bitbucket-pipelines.{yml,yaml}"),
    _ci("AppVeyor", "{.,}appveyor.{yml,yaml}"),
    _ci("Drone", ".drone.{yml,yaml,jsonnet,star}", ".drone/**"),
    _ci("Woodpecker", ".woodpecker.{yml,yaml}", ".woodpecker/**"),
    _ci("Forgejo and Gitea, of a mirror", ".forgejo/workflows/**", ".gitea/workflows/**"),
    _ci("Semaphore", ".semaphore/**"),
    _ci("Codefresh", "codefresh.{yml,yaml}", ".codefresh/**"),
    _ci("Wercker", "wercker.{yml,yaml}"),
    _ci("Cirrus CI", ".cirrus.{yml,yaml,star}"),
    _ci("TeamCity", ".teamcity/**"),
    _ci("Tekton, by Pipelines as Code", ".tekton/**"),
    _ci("Zuul", "{.,}zuul.yaml", "{.,}zuul.d/**"),
    _ci("Taskcluster", ".taskcluster.yml", "taskcluster/**"),
    _ci("Harness", ".harness/**"),
    _ci("SourceHut", ".build.{yml,yaml}", ".builds/**"),
    _ci("CloudBees CodeShip", "codeship-{services,steps}.{yml,yaml,json}"),
    _ci("CloudBees", ".cloudbees/**"),
    _ci("Scrutinizer", ".scrutinizer.{yml,yaml}"),
    _ci("RWX and Mint", ".rwx/**", ".mint/**"),
    _ci("Depot", ".depot/workflows/**"),
    _ci("Amazon CodeCatalyst", ".codecatalyst/workflows/**"),
    _ci("Tangled, of a mirror", ".tangled/workflows/**"),
    _ci("Vela", ".vela.{yml,yaml}"),
    _ci("Nx Cloud", ".nx/workflows/**"),
    _ci("Octopus", ".octopus/**"),
    _ci("Lagoon", ".lagoon.{yml,yaml}"),
    _ci("SST", "**/sst.config.ts"),
    _ci("Screwdriver", "screwdriver.yaml"),
    _ci("Buddy", "buddy.yml", ".buddy/**"),
    _ci("Bitrise", "bitrise.{yml,yaml}"),
    _ci("Codemagic", "codemagic.yaml"),
    _ci("Xcode Cloud", "**/ci_scripts/ci_{post_clone,pre_xcodebuild,post_xcodebuild}.sh"),
    _ci("Vercel", "**/vercel.{json,ts,mjs,js}", "**/now.json"),
    _ci("Netlify", "**/netlify.toml"),
    _ci("Render", "**/render.{yml,yaml}"),
    _ci("Railway", "**/railway.{json,toml}"),
    _ci("DigitalOcean's App Platform", ".do/**"),
    _ci("Trunk", ".trunk/**"),
    _ci("Evergreen", "{.,}evergreen.{yml,yaml}"),
    _ci("Kokoro", ".kokoro/**"),
    _ci("Packit", "{.,}packit.{yml,yaml}"),
    _ci("Cirun", ".cirun.{yml,yaml}"),
    _ci("Expo", ".eas/workflows/**"),
    _ci("Atlantis", "{.,}atlantis.{yml,yaml}"),
    _ci("Spacelift", ".spacelift/**"),
    _ci("Platform.sh and Upsun", "**/.platform.app.yaml", ".platform/**", ".upsun/**"),
    _ci("AWS App Runner", "**/apprunner.{yml,yaml}"),
    _ci("Heroku", "heroku.yml", "app.json", "**/Procfile"),
    _ci("Tugboat", ".tugboat/**"),
    _ci("Terrateam", ".terrateam/**"),
    _ci("env0", "**/env0.{yml,yaml}"),
    _ci("Digger", "digger.{yml,yaml}"),
    _ci("Okteto", "**/okteto.{yml,yaml}", ".okteto/**"),
    _ci("Pulumi", "**/Pulumi{,.*}.{yml,yaml}"),
    _ci("Qovery", ".qovery.{yml,yaml}"),
    _ci("Pantheon and Acquia", "pantheon{,.upstream}.{yml,yaml}", "acquia-pipelines.{yml,yaml}"),
    _ci("OpenShift CI", ".ci-operator.{yml,yaml}"),
    _ci("Fedora Copr", ".copr/**"),
    _ci("Bamboo", "bamboo-specs/**"),
    _ci("Rultor", ".rultor.yml"),
    _ci("OneDev", ".onedev-buildspec.{yml,yaml}"),
    _ci("GoCD", "**/*.gocd.{yaml,json}"),
    _ci("AWS Elastic Beanstalk", "**/.ebextensions/**", "**/.platform/hooks/**"),
    _ci("Nixpacks and Railpack", "**/nixpacks.{toml,json}", "**/railpack.json"),
    _ci("Lighthouse of Jenkins X", ".lighthouse/**"),
    _ci("Kudu of Azure", "**/.deployment"),
    _ci("Werft", ".werft/**"),
    _ci("pipelines in a folder of their own", ".pipelines/**"),
    _ci("Restyled", ".restyled.yaml", ".github/restyled.yaml"),
    _ci("Cloudflare, Fly.io and Firebase", "**/wrangler.{toml,json,jsonc}", "**/fly.toml", "**/firebase.json"),
    ProtectedFiles(
        "Read the Docs",
        ("{.,}readthedocs.{yml,yaml}",),
        "commands on each pull request, without secrets",
        False,
        "no secret is at hand",
    ),
    ProtectedFiles(
        "Agents that write code: settings, hooks, servers of tools",
        (
            *("**/.claude/**", "**/.cursor/**", "**/.gemini/**", "**/.codex/**", "**/.windsurf/**", "**/.opencode/**"),
            *("**/.continue/**", "**/.kiro/**", "**/.roo/**", "**/.junie/**", "**/.amazonq/**", "**/.goose/**"),
            *("**/.agents/**", "**/.augment/**", "**/.qwen/**", "**/.copilot/**", "**/{.,}mcp.json"),
            *("**/.aider*", "**/.aider*/**", "**/opencode.{json,jsonc}"),
            *("**/.cline/**", "**/.trae/**", "**/.factory/**", "**/.openhands/**", "**/.claude-plugin/**"),
            *("**/.roomodes", "**/.kilocode/**", "**/.kilocodemodes", "**/.agent/**", "**/{.,}crush.json"),
            *("**/.warp/**", "**/.serena/**", "**/conductor.json"),
        ),
        "commands and tools of the agent of whoever works on the branch",
        False,
        _AFTER_REVIEW,
    ),
    ProtectedFiles(
        "Agents and models: instructions",
        (
            *("**/AGENTS{,.*}.md", "**/AGENT.md", "**/CLAUDE{,.*}.md", "**/GEMINI.md", "**/QWEN.md", "**/SKILL.md"),
            *("**/.cursorrules", "**/.windsurfrules", "**/.clinerules", "**/.clinerules/**", "**/.goosehints"),
            *("**/WARP.md", "**/CRUSH.md", "**/.roorules*", "**/.rules", "**/.github/copilot-instructions.md"),
            ".github/{instructions,prompts,agents,chatmodes,skills,hooks}/**",
        ),
        "what an agent does for whoever works on the branch",
        False,
        _OBEYED,
    ),
    ProtectedFiles(
        "Editors and prepared machines",
        (
            *("**/.vscode/**", "**/*.code-workspace", "**/.devcontainer/**", "**/.devcontainer.json", "**/.idea/**"),
            *("**/.zed/**", "**/.fleet/**", "**/.vs/**", "**/.idx/**", "**/.codesandbox/**", ".gitpod*", ".ona/**"),
            *(".replit", "**/.exrc", "**/.nvimrc", "**/.nvim.lua", "**/.vimrc", "**/.dir-locals{,-2}.el"),
            *("**/.sublime-project", "**/*.sublime-project"),
        ),
        "tasks and settings that name programs, as a folder or container is opened",
        False,
        _AFTER_REVIEW,
    ),
    ProtectedFiles(
        "Shells that enter the folder",
        ("**/.envrc", "**/{.,}mise{,.*}.toml", "**/.mise/**", "**/mise/config*.toml", "**/.rtx.toml"),
        "commands, once the person allowed the file",
        False,
        _AFTER_REVIEW,
    ),
    ProtectedFiles(
        "Hooks of git",
        (
            *("**/.husky/**", "**/.githooks/**", "**/.git-hooks/**", "**/.pre-commit-{config,hooks}.{yaml,yml}"),
            *("**/{.,}lefthook{,-local}.{yml,yaml,toml,json}", "**/.lefthook/**", ".overcommit.yml"),
            *("**/.lintstagedrc*", "**/lint-staged.config.*", "**/{.,}simple-git-hooks.*"),
        ),
        "commands as a person commits or pushes",
        False,
        _AFTER_REVIEW,
    ),
    ProtectedFiles(
        "Package managers",
        (
            *("**/.npmrc", "**/.yarnrc", "**/.yarnrc.yml", "**/.yarn/{plugins,releases}/**", "**/{.,}pnpmfile.*"),
            *("**/bunfig.toml", "**/pip.{conf,ini}", "**/.pypirc", "**/{uv,poetry,pdm,.pdm}.toml", "**/.condarc"),
            *("**/.cargo/config", "**/.cargo/config.toml", "**/rust-toolchain{,.toml}", "**/.bundle/config"),
            *("**/.gemrc", "**/nuget.config", "**/.mvn/**", "**/gradle/wrapper/**", "**/init.gradle{,.kts}"),
            *("**/auth.json", "**/.sbtopts", "**/.jvmopts", "**/.pnp.{cjs,js}", "**/.pnp.loader.mjs"),
            "**/pnpm-workspace.yaml",
        ),
        "where packages come from, and programs that take part in an installation or a build",
        False,
        "so does `package.json`, which nobody could change without a question then; every install step asks for it",
    ),
    ProtectedFiles(
        "Renovate",
        ("{.github/,.gitlab/,}renovate.{json,json5}", "{.github/,}.renovaterc{,.json,.json5}"),
        "which updates are proposed and merged by themselves, with rights to write, once it is merged",
        False,
        "it acts after a review, by pull requests that are reviewed in their turn",
    ),
    ProtectedFiles(
        "Release tools",
        ("**/.releaserc*", "**/release.config.*", "**/.goreleaser*.{yml,yaml}", "**/.release-it.*"),
        "commands at a release, with the secrets that publish, once it is merged",
        False,
        "it acts after a review",
    ),
)
"""Every kind of file that Forge protects by itself."""


def _fold(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(fold_path, patterns)))


PROTECTED = _fold(pattern for row in TABLE for pattern in row.patterns)
"""Folded globs of all of them: agents are kept from these, and a plan that names one is of high risk."""

_ANY = join_patterns(PROTECTED)
_ON_PUSH = join_patterns(_fold(pattern for row in TABLE if row.why == _BEFORE_REVIEW for pattern in row.patterns))
_ASKED = join_patterns(_fold(pattern for row in TABLE if row.asks for pattern in row.patterns))


_SETTINGS = re.compile(r"\.github/.+\.(ya?ml|toml|json[5c]?)|(?!\.github/)\.[^/]+(/.*)?")
_HARMLESS = re.compile(
    r"\.github/((issue|discussion|pull_request)_template/.*|(funding|labels?|labeler|stale|lock|no-response)\.ya?ml"
    r"|(release|codecov)[^/]*|zizmor\.ya?ml)"
    r"|\.(changeset|dumi|storybook|vitepress|yarn)/.*"
    r"|\.[^/]*(ignore|keep|nojekyll|rc\.example|env\.(example|sample|template)|versions?|nvmrc|mailmap|ignore-revs|browserslistrc)"
    r"|\.([^/]*[._-])?(ava|babel|clang|contributors|cover|codecov|editorconfig|flake8|flowconfig|(rust|scala|sh|go)?fmt"
    r"|format|golangci|isort|jest|jshint|jscs|(es|style|markdown|yaml|had|py|remark|commit|html|sql|swift|tf|text)?lint"
    r"|manifest|mocha|nyc|php-?_?cs|phpstan|phpunit|prettier|psalm|rspec|rubocop|ruff|size-limit|[ac]?spell|style"
    r"|swc|typedoc|versionrc|vitest|yard)[^/]*"
)
"""Settings of tools that neither approve nor run with secrets: they format, lint, test, measure and document."""


def _is_of_unknown_program(path: str) -> bool:
    """Whether a folded path is one where Apps and CIs keep their settings, hidden at the root or in ``.github/``, and
    nobody has heard of its reader: there are more of them than a table can name.
    """
    return _SETTINGS.fullmatch(path) is not None and not _HARMLESS.fullmatch(path) and not _ANY.fullmatch(path)


def decides_about_runs(path: str) -> bool:
    """Whether a file of this name decides what is run or who may do what, so that its change is never of low risk."""
    folded = fold_path(path)
    return _ANY.fullmatch(folded) is not None or _is_of_unknown_program(folded)


def runs_on_push(path: str) -> bool:
    """Whether CI, or another service, does what this file says as soon as a branch is pushed."""
    return _ON_PUSH.fullmatch(fold_path(path)) is not None


def explain_protection(path: str) -> str:
    """What reads a file that asks ``protected_paths``, and what that does with it."""
    folded = fold_path(path)
    row = next((row for row in TABLE if row.asks and matches(folded, _fold(row.patterns))), None)
    if row is not None:
        return f"{row.reader}: {row.runs}"
    is_hidden = _is_of_unknown_program(folded)
    return "a hidden file, which a program or a model may obey" if is_hidden else "named in `paths.protected`"


def select_asked(paths: Sequence[str], configured: Sequence[str]) -> list[str]:
    """Those of the paths of a pull request that ask ``protected_paths``, in order.

    :param configured: the repository's own globs (``paths.protected``).
    """
    folded = _fold(configured)
    return sorted(path for path in paths if _asks(fold_path(path), folded))


def _asks(path: str, configured: Sequence[str]) -> bool:
    return _ASKED.fullmatch(path) is not None or _is_of_unknown_program(path) or matches(path, configured)
