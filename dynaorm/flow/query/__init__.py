"""Reading along keys: queries and scans, page by page, merged in key order.

What a query means belongs in ``dynaorm.query``; it is known before anything is read.
"""
