"""Tables for other tools: templates of CloudFormation, SAM, Terraform and the CDK, and models of NoSQL Workbench.

Each takes descriptions (``describe``) and gives plain data, or the text of a module.
"""

from typing import TYPE_CHECKING, Final

from dynaorm.late import late_names

if TYPE_CHECKING:
    from dynaorm.export.cdk_python import cdk
    from dynaorm.export.cloud_formation import cloudformation, sam, stages
    from dynaorm.export.terraform_json import terraform
    from dynaorm.export.workbench_import import module_of_workbench
    from dynaorm.export.workbench_model import workbench

__all__ = ["cdk", "cloudformation", "module_of_workbench", "sam", "stages", "terraform", "workbench"]

_HOMES: Final = {
    "dynaorm.export.cdk_python": ("cdk",),
    "dynaorm.export.cloud_formation": ("cloudformation", "sam", "stages"),
    "dynaorm.export.terraform_json": ("terraform",),
    "dynaorm.export.workbench_import": ("module_of_workbench",),
    "dynaorm.export.workbench_model": ("workbench",),
}

if not TYPE_CHECKING:
    late_names(globals(), _HOMES)
