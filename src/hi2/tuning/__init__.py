"""Which setting of a search reaches a goal, and the learned weights of lists."""
