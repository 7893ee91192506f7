"""How do other frameworks use an index? One file per framework, each behind an extra of its name.

``import hi2`` loads none of them.
"""
