"""Judge stored items and repair them: guards, versions, index keys, totals.

Each judgement and each repair action is written here once. Long runs with checkpoints and reports belong in
``dynaorm.integrity``; the fixtures that judge what a test leaves behind belong in ``dynaorm.testing``.
"""
