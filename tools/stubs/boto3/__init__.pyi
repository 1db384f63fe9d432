# What documents and examples use of boto3, which has no types of its own: for pyright.
from typing import Any

def client(service_name: str, **options: Any) -> Any: ...
