"""A worktree and its checkpoints: one look at it, git trees that nobody sees, packs of our own, and the way back."""
