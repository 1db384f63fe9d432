"""DynamoDB's own language: attribute values, sizes, placeholders, conditions, changes and actions.

Nothing here knows what an entity is, and nothing here does I/O.
"""
