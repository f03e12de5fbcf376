"""JSON: edits in place, size limits, salvage of broken text."""
