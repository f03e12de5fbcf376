"""What a repository may run: grants, and the files that a grant covers."""
