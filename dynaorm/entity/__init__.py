"""Everything that follows from a user's class declarations, compiled once per class.

Nothing here does I/O or decides what a save sends; that belongs in ``plan`` and ``flow``.
"""
