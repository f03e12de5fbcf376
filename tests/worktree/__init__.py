"""The worktree as git trees."""
