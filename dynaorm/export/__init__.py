"""Tables for other tools: templates of CloudFormation and Terraform.

Each takes descriptions (``describe``) and gives plain data.
"""

from dynaorm.export.cloud_formation import cloudformation, stages
from dynaorm.export.terraform_json import terraform

__all__ = ["cloudformation", "stages", "terraform"]
