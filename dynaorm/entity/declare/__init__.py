"""How a class declaration becomes a mapping, and which mappings share a table.

Nothing here runs after a class is complete; what does belongs in ``mapping``.
"""
