"""A supervised command on a terminal of its own."""
