"""Tables for other tools: templates of CloudFormation and Terraform.

Each takes descriptions (``describe``) and gives plain data.
"""

from dynaorm.late import late_names

late_names(globals())
