"""The journal: events stored and folded, and the Store protocol."""
