"""The interpreter and the environment variables of each client's process."""

import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers import order

ROOT = Path(__file__).parents[2]

# In the order of the rows of the report; the first one is the reference. Each is a module in clients/, run by the
# interpreter of one of the repository's virtual environments.
CLIENTS: Mapping[str, str] = {
    "raw_botocore": ".venv-peers",
    "boto3_table": ".venv-peers",
    "pynamodb_model": ".venv-peers",
    "dyntastic": ".venv-peers",
    "pydynantic": ".venv-peers",
    "dynantic": ".venv-peers",
    "pydynox": ".venv-peers",
    "aiodynamo_httpx": ".venv-peers",
    "aiodynamo_aiohttp": ".venv-peers",
    "aiobotocore": ".venv-peers-aio",
    "dynaorm_default": ".venv-peers",
    "dynaorm_direct": ".venv-peers",
    "dynaorm_async": ".venv-peers",
    "dynaorm_async_direct": ".venv-peers",
    "dynaorm_over_pynamodb": ".venv-peers",
    "dynaorm_existing": ".venv-peers",
    "dynaorm_existing_direct": ".venv-peers",
}
REFERENCE = next(iter(CLIENTS))


def python_of(client: str) -> str:
    """The interpreter in whose environment a client's library is installed."""
    return str(ROOT / CLIENTS[client] / "bin" / "python")


def surroundings() -> dict[str, str]:
    """Environment variables of a client: credentials and a region, without the machine's AWS and proxy settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "PYTHON")) and not name.lower().endswith("_proxy")
    }
    return kept | {
        "AWS_ACCESS_KEY_ID": order.ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": order.SECRET_KEY,
        "AWS_REGION": order.REGION,
        "AWS_DEFAULT_REGION": order.REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
