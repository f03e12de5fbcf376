"""What agents call: record a call, answer it."""
