"""Events as they are stored, snapshots."""
