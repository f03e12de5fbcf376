"""The command line: it turns arguments into a verb and a result into words, and nothing else."""
