"""How a class statement becomes a mapping, and the catalog of the classes that share a table.

Reading or writing entities of a complete class does not belong here, but in ``mapping``.
"""
