"""The orchestrator's sessions: its file as values and on disk, its agents, its banner."""
