"""The MCP server: a thin layer of tools over `Ledger` and the reader."""
