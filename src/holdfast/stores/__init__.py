"""Where the journal lives. One protocol, one contract suite, a thin implementation for each database."""
