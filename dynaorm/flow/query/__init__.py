"""Reading along keys: queries and scans, page by page, merged in key order.

The meaning of a query belongs in ``dynaorm.query``.
"""
