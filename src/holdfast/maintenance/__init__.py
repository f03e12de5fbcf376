"""The store's health: verify, repair, backup, prune, purge."""
