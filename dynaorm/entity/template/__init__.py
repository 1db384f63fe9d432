"""Key templates: their grammar, rules and escaping, and the keys they render and match.

Which classes may share a table is decided in ``declare``; ranges of keys belong in ``dynaorm.query``.
"""
