"""What operators do with whole tables: ``apply``, ``dump``, ``load``, ``verify``, ``repair`` and others.

Each is a function of a ``Session`` or an ``AsyncSession``, and of a table or a class.
"""

from dynaorm.late import late_names

late_names(globals())
