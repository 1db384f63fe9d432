"""Everything that is known of one mapped class, ready to use: fields, constraints, aggregates, items.

How a class becomes a mapping belongs in ``declare``.
"""
