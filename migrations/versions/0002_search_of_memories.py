"""What finds memories: the words of those that live, and when their vectors go

Triggers keep the words. SQLite numbers the rows of ``memories`` anew when it likes (VACUUM), hence
``memory_words_ids``. A later migration that makes ``memories`` anew on SQLite (``batch_alter_table``) loses the
triggers and must make them again.

A row has marks beside its words: ``r`` and the id of its repository, ``i`` and that of the installation if it holds in
the whole organisation, ``t`` and each tag in hexadecimal. Marks end in a digit, so that no stemmer shortens them, and
cannot be mistaken for words: they have a column of their own (SQLite), or begin with ``@``, which words do not hold
(PostgreSQL).
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_CHANGED = "UPDATE OF repository_id, installation_id, scope, content, context, tags, archived_at ON memories"
_FORGET_VECTORS = "DELETE FROM memory_vectors WHERE repository_id = old.repository_id AND memory_id = old.id;"

_SQLITE_ROW = """
    'r' || new.repository_id
    || CASE new.scope WHEN 'organisation' THEN ' i' || new.installation_id ELSE '' END
    || coalesce((SELECT group_concat(' t' || hex(substr(value, 1, 200)) || '0', '') FROM json_each(new.tags)), ''),
    new.content || ' ' || new.context || ' '
    || coalesce((SELECT group_concat(value, ' ') FROM json_each(new.tags)), '')
"""
_SQLITE_FORGET = """
    DELETE FROM memory_words WHERE rowid = (SELECT number FROM memory_words_ids WHERE memory_id = old.id);
    DELETE FROM memory_words_ids WHERE memory_id = old.id;
"""
_SQLITE_KEEP = f"""
    INSERT INTO memory_words_ids (memory_id) SELECT new.id WHERE new.archived_at IS NULL;
    INSERT INTO memory_words (rowid, marks, words)
    SELECT number, {_SQLITE_ROW} FROM memory_words_ids WHERE memory_id = new.id;
"""
_SQLITE = (
    "CREATE TABLE memory_words_ids (number INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE)",
    "CREATE VIRTUAL TABLE memory_words USING fts5(marks, words, tokenize = 'porter unicode61 remove_diacritics 2')",
    f"CREATE TRIGGER memory_words_added AFTER INSERT ON memories BEGIN {_SQLITE_KEEP} END",
    f"CREATE TRIGGER memory_words_removed AFTER DELETE ON memories BEGIN {_SQLITE_FORGET} END",
    f"CREATE TRIGGER memory_words_changed AFTER {_CHANGED} BEGIN {_SQLITE_FORGET} {_SQLITE_KEEP} END",
    f"""
    CREATE TRIGGER memory_vectors_archived AFTER UPDATE OF archived_at ON memories WHEN new.archived_at IS NOT NULL
    BEGIN {_FORGET_VECTORS} END
    """,
    f"CREATE TRIGGER memory_vectors_removed AFTER DELETE ON memories BEGIN {_FORGET_VECTORS} END",
)

# Its parser takes paths and addresses for one word; with spaces for what is between words it finds their parts.
_BETWEEN = r"""_/.:;,-+*=~!?@#$%&|^\<>()[]{}"'`"""
_POSTGRESQL = (
    f"""
    CREATE FUNCTION memory_words_of(memory memories) RETURNS tsvector LANGUAGE sql STABLE AS $$
        SELECT array_to_tsvector(
            ARRAY['@r' || memory.repository_id]
            || CASE memory.scope WHEN 'organisation' THEN ARRAY['@i' || memory.installation_id] ELSE '{{}}'::text[] END
            || ARRAY(SELECT '@t' || upper(encode(convert_to(left(tag, 200), 'UTF8'), 'hex')) || '0'
                     FROM json_array_elements_text(memory.tags) AS tag)
        ) || to_tsvector('english', translate(
            concat_ws(' ', memory.content, memory.context,
                      (SELECT string_agg(tag, ' ') FROM json_array_elements_text(memory.tags) AS tag)),
            $between${_BETWEEN.replace("%", "%%")}$between$, repeat(' ', {len(_BETWEEN)})
        ))
    $$
    """,
    # Without fastupdate: a list of what is not yet sorted in would be read by every search.
    """
    CREATE TABLE memory_words (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        memory_id varchar NOT NULL UNIQUE,
        words tsvector NOT NULL
    )
    """,
    "CREATE INDEX memory_words_by_word ON memory_words USING gin (words) WITH (fastupdate = off)",
    """
    CREATE FUNCTION memory_words_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM memory_words WHERE memory_id = old.id;
        END IF;
        IF TG_OP <> 'DELETE' AND new.archived_at IS NULL THEN
            INSERT INTO memory_words (memory_id, words) VALUES (new.id, memory_words_of(new));
        END IF;
        RETURN NULL;
    END
    $$
    """,
    f"""
    CREATE TRIGGER memory_words_kept AFTER INSERT OR DELETE OR {_CHANGED}
    FOR EACH ROW EXECUTE FUNCTION memory_words_keep()
    """,
    f"""
    CREATE FUNCTION memory_vectors_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' OR new.archived_at IS NOT NULL THEN
            {_FORGET_VECTORS}
        END IF;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER memory_vectors_kept AFTER DELETE OR UPDATE OF archived_at ON memories
    FOR EACH ROW EXECUTE FUNCTION memory_vectors_keep()
    """,
)


def upgrade() -> None:
    connection = op.get_bind()
    for statement in _SQLITE if connection.dialect.name == "sqlite" else _POSTGRESQL:
        connection.exec_driver_sql(statement)
