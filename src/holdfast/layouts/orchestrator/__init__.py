"""The orchestrator: its session file and history."""
