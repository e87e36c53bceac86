"""Run the log's migrations on the connection that the caller puts into `config.attributes`.

How a revision is written
- Its name is the next number and a phrase (`0002_receipts`), for file and `revision` alike; its docstring says why.
  `ledger.tables.SCHEMA_VERSION` and `SCHEMA_REVISION` move with it.
- It holds its own frozen copy of every statement and imports nothing of `ledger`: tables.py says what is true today,
  a revision what was true then. `tests/test_migrations.py` compares the outcomes.
- One file serves both dialects; `op.get_bind().dialect.name` tells which one it is.
- `event` and `payload` only ever gain nullable columns, with `op.add_column`. No `batch_alter_table`: it copies the
  table, and the triggers that refuse changes are not copied with it.
- Projections are the projector's: a change of theirs is a new `PROJECTION_VERSION`, not a revision.
- There is no way back but the backup that `learnings upgrade` makes.

Each revision is one transaction, on SQLite too. It moves `alembic_version` and, by the callback below, SQLite's
`user_version`, the number in front of the revision's name: readers look at that one, because a prompt cannot wait for
Alembic. So a program that is killed leaves a file of the old schema or of the new one, and both marks agree.
"""

from typing import Any

from alembic import context

LOG_NAMES = frozenset({"event", "payload", "meta"})


def include_object(item: Any, name: str | None, kind: str, reflected: bool, compare_to: Any) -> bool:
    """Tell whether Alembic owns this: projections and the tables inside FTS5 are no drift."""
    return kind != "table" or name in LOG_NAMES


def move_user_version(*, ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    """Let `PRAGMA user_version` follow the revision, inside its transaction."""
    if ctx.dialect.name == "sqlite":
        ctx.connection.exec_driver_sql(f"PRAGMA user_version = {int(step.up_revision_id.partition('_')[0])}")


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes.get("metadata"),
    include_object=include_object,
    on_version_apply=move_user_version,
    transaction_per_migration=True,
    transactional_ddl=True,  # SQLite's is; Alembic assumes an old driver that commits before DDL
)
context.run_migrations()
