"""The revisions, in order; released ones are never edited."""
