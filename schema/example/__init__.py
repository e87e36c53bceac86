"""Memory notes to try the ledger on when a machine has none of its own."""
