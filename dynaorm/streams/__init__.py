"""What the records of a table's stream say about its entities.

Everything here is pure. ``flow.stream`` reads the records, and ``dynaorm.handler``, which users import from here, calls
functions with the changes.
"""

from dynaorm.late import late_names

late_names(globals())
