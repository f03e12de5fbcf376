"""JSON: edits, limits, salvage."""
