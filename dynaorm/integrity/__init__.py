"""Verifying, repairing and completing what is stored: tables are read from one end to the other, while writers run.

What is judged and how it is mended is decided by flows below; here is what runs them, and remembers how far they came.
"""
