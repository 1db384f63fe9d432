"""Long runs of verify, repair and backfill: they can be interrupted, and shared by several machines.

Checkpoint files, reports and limits of a run belong here. The judgements themselves are in ``dynaorm.flow.integrity``.
"""
