"""From the inbox and from conversations into the journal."""
