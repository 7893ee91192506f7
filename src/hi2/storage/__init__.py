"""Arrays on disk, and how a set of them is committed at once."""
