"""Indexes over HTTP: search, documents and a page, for programs in any language."""
