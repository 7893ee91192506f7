"""The next state of an index from the last: build, open, add, delete, upsert, merge, commit, refit."""
