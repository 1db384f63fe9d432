"""Many items at once: batches of reads, writes and loads.

One item, or one transaction, belongs in ``flow``.
"""
