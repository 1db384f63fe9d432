"""Measure the cold start of a Lambda function: imports and the first invocation, each in a new interpreter.

Run: make bench-lambda, or make bench-lambda LAMBDA_ARGS="--sizes --starts 10"

The first invocation reads one item from a stub server over plain HTTP; TLS and the start of the interpreter are not
part of it. The variants are interleaved. Quote the minimum and the median. --sizes asks pip for the packages that each
variant needs, and measures what would be uploaded.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid
from stub import stub_server

ROOT = Path(__file__).parents[1]
EVENT = {
    "version": "2.0",
    "routeKey": "GET /users/{user_id}",
    "rawPath": "/users/u1",
    "headers": {},
    "requestContext": {"http": {"method": "GET", "path": "/users/u1"}, "stage": "$default"},
    "pathParameters": {"user_id": "u1"},
}

PROGRAM = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{imports}
imported = time.perf_counter()
found = {invocation}
wall, imported, cpu = time.perf_counter() - wall, imported - wall, time.process_time() - cpu
assert found["statusCode"] == 404, found
print(imported, wall, cpu)
"""
BY_HAND = """
import boto3
client = boto3.client("dynamodb")
def api(event):
    key = {"PK": {"S": "USER#" + event["pathParameters"]["user_id"]}, "SK": {"S": "PROFILE"}}
    item = client.get_item(TableName="app", Key=key).get("Item")
    return {"statusCode": 404 if item is None else 200}
"""
DEFAULT = """
import lambda_function
from dynaorm import Session
lambda_function.session = Session()
"""
VARIANTS = {
    "dynaorm, direct transport": ("import lambda_function", f"lambda_function.api({EVENT})"),
    "the same with Powertools": ("import lambda_powertools", f"lambda_powertools.api({EVENT})"),
    "dynaorm, default transport": (DEFAULT, f"lambda_function.api({EVENT})"),
    "boto3 by hand, without validation": (BY_HAND, f"api({EVENT})"),
}

DIRECT = ["annotated-types", "pydantic", "svix-ksuid", "typing-extensions", "typing-inspection"]
PACKAGES = {
    "dynaorm, direct transport, without botocore": (DIRECT, True),
    "dynaorm with all that it requires": (["botocore", *DIRECT], True),
    "boto3, which Lambda has already": (["boto3"], False),
}


def milliseconds(variant: tuple[str, str], environment: dict[str, str]) -> list[float]:
    """Imports, imports with the first invocation, and the CPU time of both."""
    imports, invocation = variant
    program = PROGRAM.format(imports=imports, invocation=invocation)
    run = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=ROOT / "examples",
    )  # fmt: skip
    return [float(number) * 1000 for number in run.stdout.split()]


def environment_of(endpoint: str) -> dict[str, str]:
    """What Lambda sets, with the stub in the place of DynamoDB."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",  # pragma: allowlist secret
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
    }


def show_starts(starts: int) -> None:
    with stub_server() as endpoint:
        environment = environment_of(endpoint)
        found: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
        for number in range(starts + 1):
            for name, variant in VARIANTS.items():
                times = milliseconds(variant, environment)
                if number:  # the first start writes the compiled modules
                    found[name].append(times)
    grid = Grid("function", title=f"milliseconds, minimum / median of {starts} starts", title_justify="left")
    for column in ("import", "import and first invocation", "CPU of both"):
        grid.add_column(column, justify="right")
    for name, rows in found.items():
        columns = zip(*rows, strict=True)
        grid.add_row(name, *(f"{min(one):.0f} / {statistics.median(one):.0f}" for one in columns))
    Console(width=110).print(grid)


def show_sizes() -> None:
    grid = Grid("package", title="megabytes", title_justify="left")
    for column in ("unpacked", "zipped"):
        grid.add_column(column, justify="right")
    for name, (packages, has_dynaorm) in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "package"
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
            subprocess.run([*pip, *packages], check=True, stderr=subprocess.DEVNULL)
            if has_dynaorm:
                subprocess.run([*pip, "--no-deps", str(ROOT)], check=True, stderr=subprocess.DEVNULL)
            files = [path for path in target.rglob("*") if path.is_file()]
            archive = Path(folder) / "package.zip"
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
                for path in files:
                    zipped.write(path, path.relative_to(target))
            sizes = (sum(path.stat().st_size for path in files), archive.stat().st_size)
            grid.add_row(name, *(f"{size / 1e6:.1f}" for size in sizes))
    Console(width=110).print(grid)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--starts", type=int, default=10, help="starts of each function")
    parser.add_argument("--sizes", action="store_true", help="also measure the packages, which pip downloads")
    options = parser.parse_args()
    show_starts(options.starts)
    if options.sizes:
        show_sizes()


if __name__ == "__main__":
    main()
