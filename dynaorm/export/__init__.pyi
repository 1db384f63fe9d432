from dynaorm.export.cloud_formation import cloudformation as cloudformation
from dynaorm.export.cloud_formation import stages as stages
from dynaorm.export.terraform_json import terraform as terraform
