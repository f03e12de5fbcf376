"""FABER: state files, session records, artifacts."""
