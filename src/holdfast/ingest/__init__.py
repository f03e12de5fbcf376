"""The inbox and the layouts' files into the journal."""
