"""What Forge leaves behind, all of it as text to look for secrets in: its posts on GitHub and its database."""

from sqlalchemy import MetaData, inspect, select

from memory.db.engine import sync_engine
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story


def collect_posts(story: Story, repository: Repository, pull: PullRequest) -> str:
    """Everything Forge wrote on GitHub about a pull request."""
    github = story.github
    runs = [run for run in github.world.check_runs.values() if run.repository is repository]
    return "\n".join(
        [
            *(f"{run.title} {run.summary} {run.text} {run.annotations} {run.actions}" for run in runs),
            *(each.body for each in github.reviews(pull)),
            *(each.body for each in github.review_comments(pull)),
            *(each.body for each in github.comments(pull)),
        ]
    )


def dump_database(url: str) -> str:
    """Every row of every table, those of DBOS included."""
    engine = sync_engine(url)
    parts: list[str] = []
    with engine.connect() as connection:
        schemas = inspect(connection).get_schema_names()
        for schema in schemas:
            if schema in {"information_schema", "pg_catalog"}:
                continue
            metadata = MetaData()
            metadata.reflect(connection, schema=schema)
            for table in metadata.sorted_tables:
                parts += [str(tuple(row)) for row in connection.execute(select(table))]
    engine.dispose()
    assert any("SUCCESS" in part for part in parts), "DBOS keeps its rows elsewhere"
    return "\n".join(parts)
