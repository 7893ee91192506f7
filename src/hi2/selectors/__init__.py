"""Under which lists a document is filed, and which lists a query opens."""
