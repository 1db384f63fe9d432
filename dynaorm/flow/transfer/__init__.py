"""Whole tables to lines of text, and back.

Reading and writing the files belongs in ``session``.
"""
