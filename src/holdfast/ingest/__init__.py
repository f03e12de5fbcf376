"""The inbox and the layouts' files into the journal; sessions whose process is gone, marked as dead."""
