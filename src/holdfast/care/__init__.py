"""Looking after a store: its size, its soundness, backups, repairs, and what is removed for good."""
