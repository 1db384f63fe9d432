"""What the records of a table's stream say about its entities.

Everything here is pure. ``flow.stream`` reads the records, and ``session.handler`` calls functions with the changes.
"""
