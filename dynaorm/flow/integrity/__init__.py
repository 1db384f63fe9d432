"""Every judgement of stored items, and every repair of them.

Long runs with checkpoints and reports belong in ``dynaorm.integrity``.
"""
