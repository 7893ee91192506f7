"""The index on disk: arrays, the manifest, the writer's lock. Nothing else reads or writes an index folder."""
