"""Which documents may be found: expressions over typed payload columns."""
