"""A plan: the actions a unit of work will send, in order, each with its reason.

Rule 1. One action per item: DynamoDB refuses a transaction that names one twice.
Rule 2. What is sent is decided here once. Repeating a plan sends the same token and the same bytes.
Rule 3. The limits of TransactWriteItems (``ACTION_LIMIT``, ``TRANSACTION_LIMIT``, and ``ITEM_LIMIT`` of an item) are
        checked before sending.
"""

from copy import deepcopy
from typing import Any

from dynaorm.errors import ItemTooLarge, PlanTooLarge
from dynaorm.failure import counted, texts_of
from dynaorm.item.action import ConditionCheck, Put, Update, operation_of, to_wire
from dynaorm.item.json_body import Request
from dynaorm.item.printable import printable
from dynaorm.item.size import ACTION_LIMIT, ITEM_LIMIT, TRANSACTION_LIMIT, item_size, size_bound
from dynaorm.item.update import AddTo, Append, Change, Prepend, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.item.value_text import key_text
from dynaorm.plan.cost import index_units, item_units, sent_bytes
from dynaorm.plan.effects import Effect
from dynaorm.plan.planned import Planned
from dynaorm.plan.unit_of_work import client_token
from dynaorm.record import record

_RETURNED = {"Update": "ALL_NEW", "Delete": "ALL_OLD"}
# A value of a form that DynamoDB does not have today counts with its text in Python, which may be longer than its JSON.
_SURELY = 4
_MUCH = 2**63


@record(quick=True)
class _PlanFields:
    """The fields of a plan.

    Attributes:
        actions: in the order sent; the reasons of a refusal come back in the same order.
        token: the client request token of a transaction, or the caller's text that it follows from.
        effects: what becomes of the entity objects.
        made_at: when it was compiled, in seconds since the epoch; DynamoDB remembers a token for ten minutes.
        caller_token: the token was the caller's own.
        wants_item: a single update asks for the item as it leaves it.
    """

    actions: tuple[Planned, ...]
    token: str | None
    effects: tuple[Effect, ...] = ()
    made_at: float = 0.0
    caller_token: bool = False
    wants_item: bool = False


class Plan(_PlanFields):
    """What one unit of work will send.

    Examples:
        >>> plan = session.plan(User(user_id="9", email="ada@x.com"))
        >>> plan.operation, len(plan.actions), plan.write_units
        ('TransactWriteItems', 2, 4)
    """

    def __repr__(self) -> str:
        # Error reporters show the repr of variables, and the actions have every value.
        return f"<Plan of {self.operation}: {', '.join(map(repr, self.actions))}>"

    @property
    def operation(self) -> str:
        """The DynamoDB operation: one plain conditional write, or TransactWriteItems."""
        return "TransactWriteItems" if self.is_transaction else operation_of(self.actions[0].action)

    @property
    def token_item(self) -> Planned | None:
        """The action that remembers the caller's token: the last one; None if the block did not ask for it."""
        last = self.actions[-1] if self.actions else None
        return last if last is not None and last.kind.is_memory else None

    @property
    def is_transaction(self) -> bool:
        """Whether it is sent as TransactWriteItems, at twice the price of plain writes."""
        return (
            self.token is not None or len(self.actions) != 1 or type(self.actions[0].action) is ConditionCheck
        )

    def to_request(self) -> dict[str, Any]:
        """The request's parameters, exactly as they are sent (low-level form). They are yours to change.

        Examples:
            >>> session.plan(Ticket(project="p9", number=1)).to_request()["TableName"]
            'app'
        """
        return deepcopy({**self.shared_request})

    @property
    def shared_request(self) -> Request:
        """The request's parameters without a copy: their values are those of the plan and of the entities."""
        # Python's cached_property takes a lock.
        found: Request | None = self.__dict__.get("request")
        if found is None:
            found = self.__dict__["request"] = self._request()
        return found

    def _request(self) -> Request:
        if self.is_transaction:
            return Request(
                {
                    "TransactItems": [to_wire(planned.action) for planned in self.actions],
                    "ClientRequestToken": None if self.token is None else client_token(self.token),
                }
            )
        ((kind, request),) = to_wire(self.actions[0].action).items()
        if self.wants_item and kind in _RETURNED:
            request["ReturnValues"] = _RETURNED[kind]
        return Request(request)

    @property
    def write_units(self) -> int:
        """What the plan will consume, in write capacity units: items count double in a transaction, index entries not.

        Where the stored size is not known (a change by key), the item counts as 1 KB. Source: Amazon DynamoDB
        Developer Guide, "Capacity unit consumption for write operations" and "Transactions: capacity planning".
        """
        factor = 2 if self.is_transaction else 1
        return sum(factor * item_units(planned) + index_units(planned) for planned in self.actions)

    def explain(self) -> str:
        """The plan in words: what is sent, in which order, and why each action is there.

        Examples:
            >>> print(session.plan(Ticket(project="p9", number=1)).explain())
            PutItem, 1 action, ...
            1. Put app PK=PROJECT#p9 SK=TICKET#000001: insert Ticket(...), if nothing is stored under its key
        """
        if not self.actions:
            return "Nothing to send: nothing changed."
        # Stored text is part of it, and it is printed on terminals.
        lines = [printable(_sentence(planned)) for planned in self.actions]
        count = counted(len(lines), "action")
        units = self.write_units
        price = counted(units, "write capacity unit")
        head = f"{self.operation}, {count}, {price}"
        return "\n".join([head, *(f"{number}. {line}" for number, line in enumerate(lines, 1))])

    def __str__(self) -> str:
        return self.explain()


def _sentence(planned: Planned) -> str:
    """What is sent, to which item, and why."""
    texts = texts_of(planned.kind.shown_key(planned), key_text)
    where = " ".join([planned.action.table, *(f"{name}={text}" for name, text in texts.items())])
    return f"{verb_of(planned)} {where}: {planned.reason}"


def verb_of(planned: Planned) -> str:
    """The action of TransactWriteItems in one word: ``Put``, ``Update``, ``Delete`` or ``Check``."""
    return "Check" if type(planned.action) is ConditionCheck else type(planned.action).__name__


def check_limits(plan: Plan) -> Plan:
    """The plan itself. Raises PlanTooLarge, ItemTooLarge: nothing is ever split or sent that DynamoDB would refuse."""
    if not plan.actions:
        return plan
    # JSON is longer than what it stores, so the length of the request says enough of most plans.
    is_short = len(plan.actions) <= ACTION_LIMIT
    sent = len(plan.shared_request.body) if is_short else _MUCH
    for planned in plan.actions:
        if planned.kind.most_bytes is None and not (sent < ITEM_LIMIT // _SURELY and _is_sent(planned)):
            item = _written(planned) if planned.after is None else planned.after
            if size_bound(item) > ITEM_LIMIT and (size := item_size(item)) > ITEM_LIMIT:
                raise ItemTooLarge(key=planned.subject, bytes=size)
    if sent > TRANSACTION_LIMIT // _SURELY:
        total = sum(sent_bytes(planned.action) for planned in plan.actions)
        if not is_short or (total > TRANSACTION_LIMIT and plan.is_transaction):
            refused = [printable(_sentence(one)) for one in plan.actions[ACTION_LIMIT : ACTION_LIMIT + 1]]
            raise PlanTooLarge(actions=len(plan.actions), bytes=total, first_refused="".join(refused))
    return plan


def _is_sent(planned: Planned) -> bool:
    """Whether all that is known of the item, as the action leaves it, is in the request."""
    return planned.after is None or type(planned.action) is Put


def _written(planned: Planned) -> Item:
    """What an action stores at least, where the rest of the item is not known.

    Values at nested paths are counted like elements of one list: the names on the way may be few, and shared.
    """
    found = dict(planned.item_key)
    nested: dict[str, list[AttributeValue]] = {}
    for change in planned.action.changes if type(planned.action) is Update else ():
        if (value := _stored_by(change)) is not None:
            name = str(change.path[0])
            if len(change.path) > 1:
                nested.setdefault(name, []).append(value)
            else:
                found[name] = value
    return {**found, **{name: {"L": values} for name, values in nested.items()}}


def _stored_by(change: Change) -> AttributeValue | None:
    """What a change stores at least; None for nothing. A sum may be shorter than what is added."""
    match change:
        case SetTo(value=value):
            stored: AttributeValue = value
            return stored
        case AddTo(value=value):
            return {"N": "0"} if "N" in value else value
        case Append(values=values) | Prepend(values=values):
            return {"L": [*values]}
    return None
