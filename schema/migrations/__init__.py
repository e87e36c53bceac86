"""Alembic migrations of `event`, `payload` and `meta`, on SQLite and PostgreSQL."""
