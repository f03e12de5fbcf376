"""The Go Team's runs: its files as values and on disk, its steps, points and screens, what others write there."""
