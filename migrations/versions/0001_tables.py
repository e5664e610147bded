"""All tables of Forge, as the first release has them."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

# Rows of the ledger that are looked for by themselves.
_IS_AUDITED = sa.text(
    "(type LIKE 'gate.%' OR type LIKE 'breaker.%' OR type LIKE 'guard.%' OR type LIKE 'ladder.%' "
    "OR type LIKE 'safety.%' OR type LIKE 'feedback.%' OR type LIKE 'checkpoint.%' "
    "OR type IN ('budget.granted', 'budget.refused', 'permission.refused', 'memory.stored', 'memory.edited', "
    "'memory.archived', 'memory.imported'))"
)
_IS_BESIDE_RUNS = sa.text("length(trace) <> 26")
_IS_MOVE = sa.text("(type LIKE 'run.%' OR type LIKE 'phase.%')")


def upgrade() -> None:
    op.add_column("alembic_version", sa.Column("oldest", sa.String()))  # the schema whose code works with this one
    op.create_table(
        "answers",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("turn", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "question"),
    )
    op.create_table(
        "assents",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("said", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "number", "said", "by_id"),
    )
    op.create_index("ix_assents_at", "assents", ["at"])
    op.create_table(
        "branch_pushes",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("pusher", sa.String(), nullable=False),
        sa.Column("before_sha", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "head_sha", "by_id", "pusher"),
    )
    op.create_index("ix_branch_pushes_at", "branch_pushes", ["at"])
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("granted", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("output", sa.JSON(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "phase", name="checkpoint_of_phase"),
    )
    op.create_table(
        "circuits",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("circuit", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "provider"),
    )
    op.create_table(
        "commanded",
        sa.Column("guid", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("guid"),
    )
    op.create_index("ix_commanded_at", "commanded", ["at"])
    op.create_table(
        "configurations",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("scope"),
    )
    op.create_index("ix_configurations_installation_id", "configurations", ["installation_id"])
    op.create_table(
        "contract_leases",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("contract", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "contract"),
    )
    op.create_index("contract_leases_by_end", "contract_leases", ["until"])
    op.create_table(
        "deliveries",
        sa.Column("guid", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("command", sa.JSON(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("acts_once", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("guid"),
        sa.UniqueConstraint("acts_once"),
    )
    op.create_index("ix_deliveries_received_at", "deliveries", ["received_at"])
    op.create_table(
        "delivery_log",
        sa.Column("app_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("read_to", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("app_id"),
    )
    op.create_table(
        "deployments",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("is_production", sa.Boolean(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("previous_sha", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("ordered_by", sa.String(), nullable=False),
        sa.Column("risk", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("percentage", sa.BigInteger(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("wish", sa.String(), nullable=True),
        sa.Column("wished_by", sa.String(), nullable=False),
        sa.Column("github_id", sa.BigInteger(), nullable=True),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("kept", sa.JSON(), nullable=False),
        sa.Column("holds", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_index("deployments_by_environment", "deployments", ["repository_id", "environment", "created_at"])
    op.create_table(
        "doubtful_deliveries",
        sa.Column("guid", sa.String(), nullable=False),
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("guid"),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("trace", sa.String(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Float(53), nullable=False),
        sa.Column("duration", sa.Float(53), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "events_beside_runs", "events", ["time"], sqlite_where=_IS_BESIDE_RUNS, postgresql_where=_IS_BESIDE_RUNS
    )
    op.create_index("events_by_trace", "events", ["trace", "id"])
    op.create_index("events_by_type", "events", ["type", "time"])
    op.create_index(
        "events_of_audit",
        "events",
        ["time", "id", "trace", "type"],
        sqlite_where=_IS_AUDITED,
        postgresql_where=_IS_AUDITED,
    )
    op.create_index("events_of_moves", "events", ["trace", "id"], sqlite_where=_IS_MOVE, postgresql_where=_IS_MOVE)
    op.create_table(
        "executors",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("instance", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "feedback",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("place", sa.String(), server_default="", nullable=False),
        sa.Column("word", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), server_default="", nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("severity", sa.String(), server_default="warning", nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("by_login", sa.String(), nullable=False),
        sa.Column("by_role", sa.String(), server_default="", nullable=False),
        sa.Column("head_sha", sa.String(), server_default="", nullable=False),
        sa.Column("shown", sa.String(), server_default="", nullable=False),
        sa.Column("cause", sa.String(), server_default="", nullable=False),
        sa.Column("memory_id", sa.String(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("feedback_by_fingerprint", "feedback", ["repository_id", "fingerprint"])
    op.create_index("feedback_by_memory", "feedback", ["memory_id"])
    op.create_index("feedback_by_rule", "feedback", ["repository_id", "rule"])
    op.create_table(
        "feedback_tokens",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("environment", sa.String(), nullable=True),
        sa.Column("signing_secret", sa.String(), nullable=True),
        sa.Column("allowance", sa.Float(), nullable=False),
        sa.Column("allowed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_feedback_tokens_repository_id", "feedback_tokens", ["repository_id"])
    op.create_table(
        "findings",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("trail", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("first_run", sa.String(), nullable=False),
        sa.Column("last_run", sa.String(), nullable=False),
        sa.Column("posted_by", sa.String(), nullable=True),
        sa.Column("comment_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("repository_id", "number", "fingerprint", name="finding_identity"),
        sa.UniqueConstraint("repository_id", "number", "name", name="finding_name"),
    )
    op.create_index("findings_by_fingerprint", "findings", ["repository_id", "fingerprint", "id"])
    op.create_index("findings_by_repository", "findings", ["repository_id", "id"])
    op.create_index("findings_by_review", "findings", ["repository_id", "posted_by", "id"])
    op.create_table(
        "gates",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("repository_name", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decision", sa.JSON(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("delegate", sa.String(), nullable=True),
        sa.Column("check_id", sa.BigInteger(), nullable=True),
        sa.Column("comment_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "name", "subject", name="gate_identity"),
    )
    op.create_index("gates_by_deadline", "gates", ["state", "until"])
    op.create_index("gates_by_decision", "gates", ["repository_id", "decided_at"])
    op.create_index("gates_of_pull_request", "gates", ["repository_id", "number", "state"])
    op.create_table(
        "github_limits",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.String(), server_default="", nullable=False),
        sa.Column("streak", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("writes", sa.DateTime(timezone=True), nullable=True),
        sa.Column("content", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("installation_id"),
    )
    op.create_table(
        "memories",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("scope", sa.String(), server_default="repository", nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("origin", sa.String(), server_default="person", nullable=False),
        sa.Column("pinned", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("taught_by", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_accessed", sa.DateTime(timezone=True), nullable=False),
        sa.Column("access_count", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("archived_why", sa.String(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("memories_by_installation", "memories", ["installation_id", "scope", "archived_at"])
    op.create_index("memories_by_repository", "memories", ["repository_id", "archived_at"])
    op.create_index("memories_in_order", "memories", ["repository_id", "id"])
    op.create_table(
        "memory_uses",
        sa.Column("memory_id", sa.String(), nullable=False),
        sa.Column("use", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("memory_id", "use", "cause"),
    )
    op.create_table(
        "memory_vectors",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("memory_id", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("dimensions", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "signs",
            sa.String().with_variant(postgresql.BIT(varying=True), "postgresql"),
            server_default="",
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("repository_id", "memory_id", "model"),
    )
    op.create_index(
        "memory_vectors_by_signs", "memory_vectors", ["repository_id", "model", "dimensions", "memory_id", "signs"]
    )
    op.create_table(
        "metric_days",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("stamp", sa.String(), nullable=False),
        sa.Column("sums", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "day"),
    )
    op.create_table(
        "notice_targets",
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("target"),
    )
    op.create_table("noticed_events", sa.Column("id", sa.String(), nullable=False), sa.PrimaryKeyConstraint("id"))
    op.create_table(
        "notices",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("more", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("cause", "target", name="one_notice_per_cause"),
    )
    op.create_index("notices_by_end", "notices", ["ended_at"])
    op.create_index("notices_by_state", "notices", ["state", "target", "id"])
    op.create_index("notices_of_target", "notices", ["target", "repository_id", "created_at"])
    op.create_table(
        "outbox",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=True),
        sa.Column("occasion", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("remote_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "step", "kind", name="one_write_per_step"),
    )
    op.create_index("writes_by_object", "outbox", ["kind", "remote_id"])
    op.create_table(
        "problems",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False),
        sa.Column("occurrences", sa.BigInteger(), nullable=False),
        sa.Column("affected_users", sa.BigInteger(), nullable=False),
        sa.Column("environments", sa.JSON(), nullable=False),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deployment_id", sa.String(), nullable=True),
        sa.Column("held_deployment_id", sa.String(), nullable=True),
        sa.Column("suspects", sa.JSON(), nullable=False),
        sa.Column("issue", sa.BigInteger(), nullable=True),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("shown_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("learned_from", sa.BigInteger(), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("said", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("repository_id", "fingerprint", name="problems_by_fingerprint"),
    )
    op.create_index("problems_by_issue", "problems", ["repository_id", "issue"])
    op.create_table(
        "pull_requests",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("left_alone_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("repository_id", "number"),
    )
    op.create_table(
        "recalls",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("memory_id", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("run_id", "task", "memory_id"),
    )
    op.create_index("recalls_by_memory", "recalls", ["memory_id"])
    op.create_table(
        "recovery_attempts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("work", sa.String(), nullable=False),
        sa.Column("tried", sa.String(), nullable=False),
        sa.Column("trouble", sa.JSON(), nullable=False),
        sa.Column("strategy", sa.String(), nullable=True),
        sa.Column("said", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "tried", name="one_recovery_per_try"),
    )
    op.create_index("recoveries_by_time", "recovery_attempts", ["time"])
    op.create_index("recoveries_of_issue", "recovery_attempts", ["repository_id", "number"])
    op.create_table(
        "repositories",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("paused_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_by", sa.String(), nullable=True),
        sa.Column("paused_why", sa.Text(), nullable=True),
        sa.Column("level", sa.BigInteger(), nullable=True),
        sa.Column("level_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("level_by", sa.String(), nullable=True),
        sa.Column("missed", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("lost_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("welcome", sa.String(), nullable=True),
        sa.Column("welcome_cause", sa.String(), nullable=True),
        sa.Column("welcome_run_id", sa.String(), nullable=True),
        sa.Column("overview", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("installation_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("repository_id"),
    )
    op.create_index("ix_repositories_installation_id", "repositories", ["installation_id"])
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("admitted_by", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.String(), nullable=False),
        sa.Column("base_sha", sa.String(), nullable=False),
        sa.Column("base_ref", sa.String(), server_default="", nullable=False),
        sa.Column("check_name", sa.String(), server_default="Forge / review", nullable=False),
        sa.Column("mode", sa.String(), nullable=True),
        sa.Column("lane", sa.BigInteger(), nullable=True),
        sa.Column("trigger", sa.String(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("ended_by", sa.String(), nullable=True),
        sa.Column("resumed_by", sa.String(), nullable=True),
        sa.Column("sender_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("check_due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("check_cause", sa.String(), nullable=True),
        sa.Column("check_number", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("admitted_by"),
        sa.UniqueConstraint(
            "repository_id", "number", "head_sha", "base_sha", "trigger", "attempt", name="natural_key"
        ),
    )
    op.create_index("runs_by_check", "runs", ["check_due"])
    op.create_index("runs_by_head", "runs", ["repository_id", "head_sha", "id"])
    op.create_index("runs_by_name", "runs", ["owner", "name", "id"])
    op.create_index("runs_by_number", "runs", ["repository_id", "number", "id"])
    op.create_index("runs_by_repository", "runs", ["repository_id", "id"])
    op.create_index("runs_by_repository_and_state", "runs", ["repository_id", "state", "id"])
    op.create_index("runs_by_state", "runs", ["state"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("candidates", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("sessions_by_account", "sessions", ["account_id", "created_at"])
    op.create_index("sessions_by_start", "sessions", ["created_at"])
    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("sign_ins_by_time", "sign_ins", ["at"])
    op.create_table(
        "signed_commits",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("made_sha", sa.String(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "made_sha"),
    )
    op.create_index("ix_signed_commits_at", "signed_commits", ["at"])
    op.create_index("ix_signed_commits_sha", "signed_commits", ["sha"])
    op.create_table(
        "spend",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("reserved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("spend_by_installation", "spend", ["installation_id", "day"])
    op.create_index("spend_by_run", "spend", ["run_id", "phase", "step"])
    op.create_index(
        "spend_of_days",
        "spend",
        [
            "repository_id",
            "day",
            "phase",
            "model",
            "run_id",
            "state",
            "amount",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
        ],
    )
    op.create_table(
        "waits",
        sa.Column("workflow_id", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("workflow_id"),
    )
    op.create_table(
        "work_checkpoints",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("work", sa.String(), nullable=False),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "work", "base", "number", name="one_chain_per_work"),
    )
    op.create_index("work_checkpoints_by_time", "work_checkpoints", ["time"])
