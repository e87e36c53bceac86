"""JSON Schemas of the MCP tools, one file per tool."""
