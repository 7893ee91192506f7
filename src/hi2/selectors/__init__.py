"""Which lists is a document filed under, and which lists does a query open?"""
