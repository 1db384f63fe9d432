"""Key templates: their grammar, rules and escaping, and the keys they render and match.

Whether two classes may share a table belongs in ``declare``; ranges of keys belong in ``dynaorm.query``.
"""
