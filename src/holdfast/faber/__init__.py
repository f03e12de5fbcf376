"""FABER's runs: its state file, session records, workflows and critical artifacts, and the words of its documents."""
