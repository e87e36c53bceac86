"""JSON Schemas of the formats that importers read."""
