"""The worktree as git trees that no git command shows."""
