from dynaorm.export.templates import cloudformation as cloudformation
from dynaorm.export.templates import stages as stages
from dynaorm.export.templates import terraform as terraform
