"""Key templates: their grammar, rules and escaping, and the keys that they render and match.

Whether classes may share a table does not belong here, but in ``declare``; key ranges belong in ``dynaorm.query``.
"""
