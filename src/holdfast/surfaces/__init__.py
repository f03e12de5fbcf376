"""Entry points and rendering: hooks, command line."""
