"""Values and rules, computed from their arguments: no disk, clock, process or network."""
