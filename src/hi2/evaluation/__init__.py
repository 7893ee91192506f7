"""How good is a search, and on which collection? Measures, collections, compared systems and reports."""
