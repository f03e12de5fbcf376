"""Go Team."""
