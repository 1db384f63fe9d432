"""A function for AWS Lambda: a small HTTP API behind API Gateway, and a reader of the table's stream.

Deploy it twice, with the handlers ``lambda_function.api`` and ``lambda_function.stream``: see docs/lambda.md.
"""

import json
import os
from base64 import b64decode
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from dynaorm import Entity, F, Key, Retry, Session, Table, Unique, new_ksuid
from dynaorm.errors import Contention, Throttled, UniqueViolation
from dynaorm.streams import Inserted, handler
from dynaorm.transport import DirectTransport

app = Table("app", stream="NEW_AND_OLD_IMAGES")
stats = Table("stats")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str = Field(default_factory=new_ksuid)
    email: Annotated[str, Unique(normalize=str.casefold)]
    name: str
    joined: date = Field(default_factory=lambda: datetime.now(UTC).date())


class SignUps(Entity, table=stats, pk="SIGNUPS#{day}", sk="COUNT"):
    day: date
    users: int = 0


class SignUp(BaseModel):
    """What a client may choose."""

    email: str
    name: str


# One session for all invocations, which keep its connections. Importing this module opens nothing.
session = Session(
    transport=DirectTransport(timeout=3),
    table_names={"app": os.environ.get("APP_TABLE", "app"), "stats": os.environ.get("STATS_TABLE", "stats")},
    retry=Retry(seconds=10),  # before the client has given up
)


# -- the API -----------------------------------------------------------------------------------------------------------


def sign_up(body: str) -> User:
    wanted = SignUp.model_validate_json(body)
    return session.save(User(email=wanted.email, name=wanted.name))


def profile(user_id: str) -> User | None:
    return session.get(User, user_id=user_id)


def api(event: dict[str, Any], _context: object = None) -> dict[str, Any]:
    """Handle a request of an HTTP API of API Gateway (payload format 2.0)."""
    try:
        match event["routeKey"]:
            case "POST /users":
                return answer(201, sign_up(body_of(event)))
            case "GET /users/{user_id}":
                user = profile(event["pathParameters"]["user_id"])
                return answer(404, {"error": "no such user"}) if user is None else answer(200, user)
    except ValidationError as wrong:
        return answer(
            422, {"error": wrong.errors(include_url=False, include_context=False, include_input=False)}
        )
    except UniqueViolation as taken:
        return answer(409, {"error": f"this {taken.constraint} is taken"})
    except (Contention, Throttled):
        return answer(503, {"error": "try again"})
    return answer(404, {"error": "no such route"})


def body_of(event: dict[str, Any]) -> str:
    body: str = event.get("body") or ""
    return b64decode(body).decode() if event.get("isBase64Encoded") else body


def answer(status: int, content: BaseModel | dict[str, Any]) -> dict[str, Any]:
    content = content.model_dump(mode="json") if isinstance(content, BaseModel) else content
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(content),
    }


# -- the stream --------------------------------------------------------------------------------------------------------

stream = handler(app)


@stream.inserted(User)
def count(change: Inserted[User]) -> None:
    """Count the sign-ups of a day. Lambda may deliver a record twice, so the block remembers whom it has counted."""
    with session.transaction(token=f"count#{change.new.user_id}", remember=timedelta(days=2)) as tx:
        tx.upsert(Key(SignUps, day=change.new.joined), F.users.add(1))
