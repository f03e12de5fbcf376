"""Pure values and rules: no disk, clock, process or network."""
