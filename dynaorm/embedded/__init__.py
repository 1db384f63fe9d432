"""DynamoDB's rules over SQLite, in this process: the engine behind ``memory:`` and ``sqlite:FILE``."""
