"""From a query to hits: effort, candidates, scores, and what callers see of them."""
