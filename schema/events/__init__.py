"""JSON Schemas of the events, one file per kind and version; released files are never edited."""
