"""A supervised command in a terminal of its own."""
