"""What carries one call to DynamoDB and returns its reply: over pynamodb here, by itself in ``direct``.

Every transport makes one attempt and ends in a reply, a ``Refusal`` or ``NoAnswer``. The real clock is here, too.
What repeats calls, pauses, or knows entities does not belong here.
"""

from dynaorm.late import late_names

late_names(globals())
