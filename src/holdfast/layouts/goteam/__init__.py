"""Go Team: registry, manifest, live state, recovery and checkpoint files."""
