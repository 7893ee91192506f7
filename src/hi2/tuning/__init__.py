"""Which setting of a search reaches a goal, and what lists promise."""
