"""Text becomes terms."""
