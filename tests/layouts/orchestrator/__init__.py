"""The orchestrator."""
