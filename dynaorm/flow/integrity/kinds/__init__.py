"""The kinds of items that follow from entities, as they are verified: what is wrong in which state, and its repair.

What such an item must look like is asked of ``dynaorm.plan.kinds``.
"""
