"""Readers of other memories: each turns one kind of source into drafts, and never writes."""
