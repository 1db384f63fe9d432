"""The mapping of one complete class: its fields, keys, constraints and totals, and conversion from and to items.

Checking a class statement does not belong here, but in ``declare``.
"""
