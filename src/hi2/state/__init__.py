"""What an index is at one moment: the model, segments, profiles and statistics. Immutable; knows no disk."""
