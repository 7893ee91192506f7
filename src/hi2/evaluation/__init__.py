"""How good is a search, on which collection?"""
