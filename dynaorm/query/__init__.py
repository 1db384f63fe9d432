"""What a query means: which key serves it, which requests it makes, where it stands. Pure.

Knows no plan and sends nothing.
"""
