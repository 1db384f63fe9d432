"""The API of lambda_function.py over the event handler of Powertools for AWS Lambda.

Install ``aws-lambda-powertools`` beside dynaorm, and deploy it with the handler ``lambda_powertools.api``.
"""

import json
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from lambda_function import profile, sign_up
from pydantic import ValidationError

from dynaorm.errors import Contention, Throttled, UniqueViolation

routes = APIGatewayHttpResolver()


@routes.post("/users")
def post_user() -> tuple[dict[str, Any], int]:
    return sign_up(routes.current_event.decoded_body or "").model_dump(mode="json"), 201


@routes.get("/users/<user_id>")
def get_user(user_id: str) -> dict[str, Any]:
    user = profile(user_id)
    if user is None:
        raise NotFoundError("no such user")
    return user.model_dump(mode="json")


@routes.exception_handler(ValidationError)
def is_wrong(wrong: ValidationError) -> Response[str]:
    return error(422, wrong.errors(include_url=False, include_context=False, include_input=False))


@routes.exception_handler(UniqueViolation)
def is_taken(taken: UniqueViolation) -> Response[str]:
    return error(409, f"this {taken.constraint} is taken")


@routes.exception_handler([Contention, Throttled])
def is_busy(_: Exception) -> Response[str]:
    return error(503, "try again")


def error(status: int, what: Any) -> Response[str]:
    return Response(status, "application/json", json.dumps({"error": what}))


def api(event: dict[str, Any], context: Any = None) -> dict[str, Any]:
    """Handle a request of an HTTP API of API Gateway (payload format 2.0)."""
    return routes.resolve(event, context)
