"""Tables for other tools: templates of CloudFormation and Terraform.

Each takes descriptions (``describe``) and gives plain data.
"""

from typing import TYPE_CHECKING, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.export.cloud_formation import cloudformation, stages
    from dynaorm.export.terraform_json import terraform

__all__ = ["cloudformation", "stages", "terraform"]

_HOMES: Final = {
    "dynaorm.export.cloud_formation": ("cloudformation", "stages"),
    "dynaorm.export.terraform_json": ("terraform",),
}

if not TYPE_CHECKING:
    late_names(globals(), _HOMES)
