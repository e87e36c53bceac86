"""Data of the ledger, installed as `ledger_schema`: event and tool schemas, rules, migrations, the example."""
