"""The SQLite store, beside its contract."""
