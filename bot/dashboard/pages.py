"""The table of all pages and forms of a repository, in the order of the navigation."""

from collections.abc import Sequence

from bot.dashboard import audit, checkpoints, configuration, figures, findings, memories, overview, runs
from bot.dashboard.visit import RepositoryAction, RepositoryPage

PAGES: Sequence[RepositoryPage] = (
    RepositoryPage("", overview.show_repository, tab="Overview"),
    RepositoryPage("runs", runs.list_runs, tab="Runs"),
    RepositoryPage("runs/{run}", runs.show_run),
    RepositoryPage("runs/{run}/timeline", runs.show_timeline),
    RepositoryPage("runs/{run}/checkpoints", checkpoints.list_checkpoints, least=checkpoints.LEAST),
    RepositoryPage("runs/{run}/checkpoints/{checkpoint}", checkpoints.show_checkpoint, least=checkpoints.LEAST),
    RepositoryPage("findings", findings.list_findings, tab="Findings"),
    RepositoryPage("findings/{number}/{finding}", findings.show_finding),
    RepositoryPage("memories", memories.list_memories, tab="Memories"),
    RepositoryPage("memories/new", memories.offer_form, least=memories.EDITOR),
    RepositoryPage("memories/export", memories.export_memories),
    RepositoryPage("memories/{memory}", memories.show_memory),
    RepositoryPage("costs", figures.show_costs, tab="Costs"),
    RepositoryPage("metrics", figures.show_metrics, tab="Metrics"),
    RepositoryPage("gates", overview.list_gates, tab="Gates"),
    RepositoryPage("deployments", figures.list_deployments, tab="Deployments"),
    RepositoryPage("level", figures.show_level, tab="Level"),
    RepositoryPage("audit", audit.show_audit, least=audit.LEAST, tab="Audit"),
    RepositoryPage("audit/export/{form}", audit.export_audit, least=audit.LEAST),
    RepositoryPage("configuration", configuration.show_configuration, tab="Configuration"),
)
ACTIONS: Sequence[RepositoryAction] = (
    RepositoryAction("memories/new", memories.add, least="read"),
    RepositoryAction("memories/{memory}", memories.correct, least="read"),
    RepositoryAction("memories/{memory}/archive", memories.archive, least="read"),
)
"""They say themselves which role they take, so that people who had it learn that they have it no more."""
