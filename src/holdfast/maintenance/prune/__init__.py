"""Space: evict old data below the quota."""
