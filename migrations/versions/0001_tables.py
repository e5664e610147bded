"""All tables of the first release, as they were then: what the code says of them later, later migrations do."""

from collections.abc import Sequence

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Float,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.dialects.postgresql import BIT

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("alembic_version", Column("oldest", String))  # the schema whose code works with this one
    _TABLES.create_all(op.get_bind(), checkfirst=False)


_TABLES = MetaData()
_TIME = DateTime(timezone=True)
_IS_MOVE = text("(type LIKE 'run.%' OR type LIKE 'phase.%')")
_IS_AUDITED = text(
    "(type LIKE 'gate.%' OR type LIKE 'breaker.%' OR type LIKE 'guard.%' OR type LIKE 'ladder.%' "
    "OR type LIKE 'safety.%' OR type LIKE 'feedback.%' OR type LIKE 'checkpoint.%' "
    "OR type IN ('budget.granted', 'budget.refused', 'permission.refused', 'memory.stored', 'memory.edited', "
    "'memory.archived'))"
)
_IS_BESIDE_RUNS = text("length(trace) <> 26")

# What comes in and goes out: deliveries, pushes, and targets of notices

Table(
    "deliveries",
    _TABLES,
    Column("guid", String, primary_key=True),
    Column("event", String, nullable=False),
    Column("action", String, nullable=False),
    Column("received_at", _TIME, nullable=False, index=True),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("command", JSON),
    Column("finished_at", _TIME),
    Column("acts_once", String, unique=True),
)

Table(
    "delivery_log",
    _TABLES,
    Column("app_id", BigInteger, primary_key=True, autoincrement=False),
    Column("holder", String, nullable=False),
    Column("lease_until", _TIME, nullable=False),
    Column("read_at", _TIME),
    Column("read_to", _TIME),
)

Table(
    "doubtful_deliveries",
    _TABLES,
    Column("guid", String, primary_key=True),
    Column("attempt_id", BigInteger, nullable=False),
    Column("event", String, nullable=False),
    Column("first_at", _TIME, nullable=False),
    Column("last_at", _TIME, nullable=False),
    Column("asked", BigInteger, nullable=False),
)

Table(
    "commanded",
    _TABLES,
    Column("guid", String, primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("account_id", BigInteger, nullable=False),
    Column("at", _TIME, nullable=False, index=True),
    Column("told", String, nullable=False),
)

Table(
    "branch_pushes",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("head_sha", String, primary_key=True),
    Column("by_id", BigInteger, primary_key=True),
    Column("pusher", String, primary_key=True),
    Column("before_sha", String, nullable=False),
    Column("at", _TIME, nullable=False, index=True),
)

Table(
    "signed_commits",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("made_sha", String, primary_key=True),
    Column("sha", String, nullable=False, index=True),
    Column("at", _TIME, nullable=False, index=True),
)

Table(
    "noticed_events",
    _TABLES,
    Column("id", String, primary_key=True),
)

Table(
    "notice_targets",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("at", _TIME, nullable=False, index=True),
    Column("rest_until", _TIME, nullable=False),
    Column("hour", _TIME, nullable=False),
    Column("told", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("problem", Text, nullable=False),
)

# Deployments, and of what monitoring reports from production

Table(
    "deployments",
    _TABLES,
    Column("run_id", String, primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("environment", String, nullable=False),
    Column("is_production", Boolean, nullable=False),
    Column("sha", String, nullable=False),
    Column("previous_sha", String, nullable=False),
    Column("cause", String, nullable=False),
    Column("ordered_by", String, nullable=False),
    Column("risk", String),
    Column("state", String, nullable=False),
    Column("percentage", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),
    Column("wish", String),
    Column("wished_by", String, nullable=False),
    Column("github_id", BigInteger),
    Column("steps", JSON, nullable=False),
    Column("kept", JSON, nullable=False),
    Column("holds", Boolean, nullable=False, server_default=false()),
    Column("created_at", _TIME, nullable=False),
    Column("finished_at", _TIME),
    Index("deployments_by_environment", "repository_id", "environment", "created_at"),
)

Table(
    "feedback_tokens",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("repository_id", BigInteger, nullable=False, index=True),
    Column("name", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("created_by", String, nullable=False),
    Column("revoked_at", _TIME),
    Column("used_at", _TIME),
    Column("environment", String),
    Column("signing_secret", String),
    Column("allowance", Float, nullable=False),
    Column("allowed_at", _TIME, nullable=False),
)

Table(
    "problems",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("report", JSON, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("occurrences", BigInteger, nullable=False),
    Column("affected_users", BigInteger, nullable=False),
    Column("environments", JSON, nullable=False),
    Column("first_seen", _TIME, nullable=False),
    Column("last_seen", _TIME, nullable=False),
    Column("deployment_id", String),
    Column("held_deployment_id", String),
    Column("suspects", JSON, nullable=False),
    Column("issue", BigInteger),
    Column("opened", BigInteger, nullable=False),
    Column("opened_at", _TIME),
    Column("shown_at", _TIME),
    Column("closed_at", _TIME),
    Column("resolved_at", _TIME),
    Column("learned_from", BigInteger),
    Column("queued_at", _TIME),
    Column("said", Text, nullable=False),
    UniqueConstraint("repository_id", "fingerprint", name="problems_by_fingerprint"),
    Index("problems_by_issue", "repository_id", "issue"),
)

# What people decide about: findings, their words on them, and gates

Table(
    "findings",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("name", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("trail", String, nullable=False),
    Column("content", JSON, nullable=False),
    Column("first_run", String, nullable=False),
    Column("last_run", String, nullable=False),
    Column("posted_by", String),
    Column("comment_id", BigInteger),
    Column("created_at", _TIME, nullable=False),
    UniqueConstraint("repository_id", "number", "fingerprint", name="finding_identity"),
    UniqueConstraint("repository_id", "number", "name", name="finding_name"),
    Index("findings_by_fingerprint", "repository_id", "fingerprint", "id"),
    Index("findings_by_repository", "repository_id", "id"),
    Index("findings_by_review", "repository_id", "posted_by", "id"),
)

Table(
    "feedback",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("name", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("rule", String, nullable=False),
    Column("path", String, nullable=False),
    Column("place", String, nullable=False, server_default=""),
    Column("word", String, nullable=False),
    Column("scope", String, nullable=False, server_default=""),
    Column("until", _TIME),
    Column("version", BigInteger, nullable=False, server_default="0"),
    Column("severity", String, nullable=False, server_default="warning"),
    Column("reason", Text, nullable=False),
    Column("by_id", BigInteger, nullable=False),
    Column("by_login", String, nullable=False),
    Column("by_role", String, nullable=False, server_default=""),
    Column("head_sha", String, nullable=False, server_default=""),
    Column("shown", String, nullable=False, server_default=""),
    Column("cause", String, nullable=False, server_default=""),
    Column("memory_id", String, nullable=False, server_default=""),
    Column("created_at", _TIME, nullable=False),
    Column("undone_at", _TIME),
    Index("feedback_by_fingerprint", "repository_id", "fingerprint"),
    Index("feedback_by_memory", "memory_id"),
    Index("feedback_by_rule", "repository_id", "rule"),
)

Table(
    "gates",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("installation_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("owner", String, nullable=False),
    Column("repository_name", String, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("head_sha", String, nullable=False),
    Column("name", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("request", JSON, nullable=False),
    Column("state", String, nullable=False),
    Column("asked_at", _TIME, nullable=False),
    Column("until", _TIME, nullable=False),
    Column("decision", JSON),
    Column("decided_at", _TIME),
    Column("delegate", String),
    Column("check_id", BigInteger),
    Column("comment_id", BigInteger),
    UniqueConstraint("run_id", "name", "subject", name="gate_identity"),
    Index("gates_by_deadline", "state", "until"),
    Index("gates_by_decision", "repository_id", "decided_at"),
    Index("gates_of_pull_request", "repository_id", "number", "state"),
)

# Memories: their text, uses, vectors and recalls

Table(
    "memories",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("installation_id", BigInteger, nullable=False, server_default="0"),
    Column("repository_id", BigInteger, nullable=False),
    Column("scope", String, nullable=False, server_default="repository"),
    Column("kind", String, nullable=False),
    Column("content", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("source", String, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("origin", String, nullable=False, server_default="person"),
    Column("pinned", Boolean, nullable=False, server_default=false()),
    Column("taught_by", BigInteger, nullable=False, server_default="0"),
    Column("last_accessed", _TIME, nullable=False),
    Column("access_count", BigInteger, nullable=False),
    Column("used_at", _TIME, nullable=False),
    Column("archived_at", _TIME),
    Column("archived_why", String),
    Index("memories_by_installation", "installation_id", "scope", "archived_at"),
    Index("memories_by_repository", "repository_id", "archived_at"),
    Index("memories_in_order", "repository_id", "id"),
)

Table(
    "memory_uses",
    _TABLES,
    Column("memory_id", String, primary_key=True),
    Column("use", String, primary_key=True),
    Column("cause", String, primary_key=True),
    Column("at", _TIME, nullable=False),
)

Table(
    "memory_vectors",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("memory_id", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    Column("dimensions", BigInteger, nullable=False, server_default="0"),
    Column("signs", String().with_variant(BIT(varying=True), "postgresql"), nullable=False, server_default=""),
    Index("memory_vectors_by_signs", "repository_id", "model", "dimensions", "memory_id", "signs"),
)

Table(
    "recalls",
    _TABLES,
    Column("run_id", String, primary_key=True),
    Column("task", String, primary_key=True),
    Column("memory_id", String, primary_key=True),
    Column("phase", String, nullable=False),
    Column("rank", BigInteger, nullable=False),
    Column("at", _TIME, nullable=False),
    Column("outcome", String, nullable=False, server_default=""),
    Index("recalls_by_memory", "memory_id"),
)

# Events, and of what reports keep of them, because counting it again takes long

Table(
    "events",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("trace", String, nullable=False),
    Column("time", _TIME, nullable=False),
    Column("source", String, nullable=False),
    Column("type", String, nullable=False),
    Column("phase", String),
    Column("payload", JSON, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
    Column("duration", Double),
    Index("events_beside_runs", "time", sqlite_where=_IS_BESIDE_RUNS, postgresql_where=_IS_BESIDE_RUNS),
    Index("events_by_trace", "trace", "id"),
    Index("events_by_type", "type", "time"),
    Index("events_of_audit", "time", "id", "trace", "type", sqlite_where=_IS_AUDITED, postgresql_where=_IS_AUDITED),
    Index("events_of_moves", "trace", "id", sqlite_where=_IS_MOVE, postgresql_where=_IS_MOVE),
)

Table(
    "metric_days",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("day", String, primary_key=True),
    Column("stamp", String, nullable=False),
    Column("sums", JSON, nullable=False),
)

# Money: model calls, budgets, answers and circuit breakers

Table(
    "spend",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("installation_id", BigInteger, nullable=False),
    Column("phase", String, nullable=False),
    Column("step", String, nullable=False),
    Column("model", String, nullable=False),
    Column("day", String, nullable=False),
    Column("state", String, nullable=False),
    Column("reserved", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("outcome", String, nullable=False),
    Column("problem", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("reserved_at", _TIME, nullable=False),
    Column("settled_at", _TIME),
    Index("spend_by_installation", "installation_id", "day"),
    Index("spend_by_run", "run_id", "phase", "step"),
    Index(
        "spend_of_days",
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
    ),
)

Table(
    "budgets",
    _TABLES,
    Column("scope", String, primary_key=True),
    Column("granted", BigInteger, nullable=False),
)

Table(
    "answers",
    _TABLES,
    Column("run_id", String, primary_key=True),
    Column("question", String, primary_key=True),
    Column("value", JSON, nullable=False),
    Column("turn", JSON(none_as_null=True)),
    Column("time", _TIME, nullable=False),
)

Table(
    "circuits",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("provider", String, primary_key=True),
    Column("circuit", JSON, nullable=False),
)

# What processes share: their leases, GitHub's rate limits, and who is signed in to the dashboard

Table(
    "executors",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("instance", String, nullable=False),
    Column("host", String, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("lease_until", _TIME, nullable=False),
)

Table(
    "github_limits",
    _TABLES,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column("until", _TIME),
    Column("reason", String, nullable=False, server_default=""),
    Column("streak", BigInteger, nullable=False, server_default="0"),
    Column("writes", _TIME),
    Column("content", _TIME),
)

Table(
    "sessions",
    _TABLES,
    Column("digest", String, primary_key=True),
    Column("account_id", BigInteger, nullable=False),
    Column("login", String, nullable=False),
    Column("candidates", JSON, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("seen_at", _TIME, nullable=False),
    Index("sessions_by_account", "account_id", "created_at"),
    Index("sessions_by_start", "created_at"),
)

Table(
    "sign_ins",
    _TABLES,
    Column("digest", String, primary_key=True),
    Column("at", _TIME, nullable=False),
    Index("sign_ins_by_time", "at"),
)

# Repositories: what was decided about each, what people allowed, and configurations

Table(
    "repositories",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("paused_since", _TIME),
    Column("paused_by", String),
    Column("paused_why", Text),
    Column("level", BigInteger),
    Column("level_since", _TIME),
    Column("level_by", String),
    Column("missed", JSON(none_as_null=True)),
    Column("lost_at", _TIME),
    Column("welcome_cause", String),
    Column("installation_id", BigInteger, index=True),
)

Table(
    "assents",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("said", String, primary_key=True),
    Column("by_id", BigInteger, primary_key=True),
    Column("by_login", String, nullable=False),
    Column("at", _TIME, nullable=False, index=True),
)

Table(
    "configurations",
    _TABLES,
    Column("scope", String, primary_key=True),
    Column("installation_id", BigInteger, nullable=False, index=True),
    Column("sha", String, nullable=False),
    Column("content", JSON, nullable=False),
)

# Runs: their states, fencing tokens, checkpoints, writes to GitHub, waits and contracts

Table(
    "pull_requests",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("fence", BigInteger, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("left_alone_by", String),
)

Table(
    "runs",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("admitted_by", String, nullable=False, unique=True),
    Column("installation_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("owner", String, nullable=False),
    Column("name", String, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("head_sha", String, nullable=False),
    Column("base_sha", String, nullable=False),
    Column("base_ref", String, nullable=False),
    Column("check_name", String, nullable=False, server_default="Forge / review"),
    Column("mode", String),
    Column("lane", BigInteger),
    Column("trigger", String, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("detail", Text, nullable=False),
    Column("ended_by", String),
    Column("resumed_by", String),
    Column("sender_id", BigInteger),
    Column("created_at", _TIME, nullable=False),
    Column("started_at", _TIME),
    Column("finished_at", _TIME),
    Column("check_due", _TIME),
    Column("check_cause", String),
    Column("check_number", BigInteger),
    UniqueConstraint("repository_id", "number", "head_sha", "base_sha", "trigger", "attempt", name="natural_key"),
    Index("runs_by_check", "check_due"),
    Index("runs_by_head", "repository_id", "head_sha", "id"),
    Index("runs_by_name", "owner", "name", "id"),
    Index("runs_by_number", "repository_id", "number", "id"),
    Index("runs_by_repository", "repository_id", "id"),
    Index("runs_by_repository_and_state", "repository_id", "state", "id"),
    Index("runs_by_state", "state"),
)

Table(
    "checkpoints",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("phase", String, nullable=False),
    Column("output", JSON, nullable=False),
    Column("time", _TIME, nullable=False),
    UniqueConstraint("run_id", "phase", name="checkpoint_of_phase"),
)

Table(
    "work_checkpoints",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("work", String, nullable=False),
    Column("base", String, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("cause", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("details", JSON, nullable=False),
    Column("time", _TIME, nullable=False),
    UniqueConstraint("run_id", "work", "base", "number", name="one_chain_per_work"),
    Index("work_checkpoints_by_time", "time"),
)

Table(
    "recovery_attempts",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("work", String, nullable=False),
    Column("tried", String, nullable=False),
    Column("trouble", JSON, nullable=False),
    Column("strategy", String),
    Column("said", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("details", JSON, nullable=False),
    Column("time", _TIME, nullable=False),
    UniqueConstraint("run_id", "tried", name="one_recovery_per_try"),
    Index("recoveries_by_time", "time"),
    Index("recoveries_of_issue", "repository_id", "number"),
)

Table(
    "outbox",
    _TABLES,
    Column("id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("step", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("head_sha", String),
    Column("occasion", String),
    Column("state", String, nullable=False),
    Column("remote_id", BigInteger),
    Column("created_at", _TIME, nullable=False),
    Column("done_at", _TIME),
    UniqueConstraint("run_id", "step", "kind", name="one_write_per_step"),
    Index("writes_by_object", "kind", "remote_id"),
)

Table(
    "waits",
    _TABLES,
    Column("workflow_id", String, primary_key=True),
    Column("until", _TIME, nullable=False),
    Column("reason", String, nullable=False),
)

Table(
    "contract_leases",
    _TABLES,
    Column("repository_id", BigInteger, primary_key=True),
    Column("contract", String, primary_key=True),
    Column("holder", String, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("until", _TIME, nullable=False),
    Index("contract_leases_by_end", "until"),
)
