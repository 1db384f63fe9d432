"""What a table is, for everything that shows it: ``describe``, ``classify``, ``samples``, ``answer_of``."""

from dynaorm.late import late_names

late_names(globals())
