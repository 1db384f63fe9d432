"""DynamoDB's own language: attribute values, sizes, paths, placeholders, conditions, changes and actions.

Code that knows about entities does not belong here, and neither does I/O.
"""
