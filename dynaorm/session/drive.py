"""``drive``: runs a flow over a transport."""

from __future__ import annotations

from contextlib import suppress
from contextvars import copy_context
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dynaorm.errors import DynaormError
from dynaorm.flow.call import Call, Clock, Flow, Parallel, Pause, Reply, Transport
from dynaorm.item.json_body import Body
from dynaorm.late import late
from dynaorm.transport.answer import check_reply

if TYPE_CHECKING:
    from concurrent import futures
else:
    late(globals(), futures="concurrent.futures")

T = TypeVar("T")

# A flow that reads a whole table must not hold its pages. A parsed reply takes several times the memory of its bytes.
_REMEMBERED: Final = 32
_REMEMBERED_BYTES: Final = 2**20


def drive(flow: Flow[T], transport: Transport, clock: Clock, replies: Replies | None = None) -> T:
    """Run a flow to its end, one call at a time. Errors of a call are thrown into the flow.

    ``replies``: those of the flow that runs this one.
    """
    replies = replies or Replies()
    try:
        step = next(flow)
        while True:
            try:
                reply: Any = {}
                if isinstance(step, Call):
                    reply = transport.call(step)
                    replies.add(reply)
                elif isinstance(step, Pause):
                    clock.pause(step.seconds)
                else:
                    reply = _together(step, transport, clock, replies)
            except BaseException as raised:  # noqa: BLE001 - Ctrl-C too: the flow must know that no answer came
                step = replies.after_error(flow, raised)
            else:
                step = replies.after(flow, reply)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        # An interrupt between two steps leaves the flow suspended: its ``finally`` must not wait for the garbage
        # collector.
        flow.close()


class Replies:
    """The last replies to the calls of a flow, and of the flows that it runs together.

    They are the newest one, whatever its size, and those before it as long as all of them are small.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: list[Body] = []

    def add(self, reply: Any) -> None:
        """Remember a reply that was not parsed yet."""
        if not isinstance(reply, Body):
            return
        last = self._last
        last.append(reply)
        # Flows that run together call this from several threads.
        while len(last) > 1 and _are_many(tuple(last)):
            with suppress(IndexError):
                del last[0]

    def after(self, flow: Flow[Any], reply: Any) -> Any:
        """The step after a reply. Raises Unreachable if the flow could not read one because it is invalid."""
        try:
            return flow.send(reply)
        except (StopIteration, DynaormError):
            raise
        # A body is parsed when the flow asks for its content. What DynamoDB never sends, such as items without keys,
        # thus surfaces as a KeyError somewhere in the flow, perhaps some replies later.
        except Exception:
            self._check(reply)
            raise

    def after_error(self, flow: Flow[Any], error: BaseException) -> Any:
        """The step after an error of a call. Raises as ``after``."""
        try:
            return flow.throw(error)
        except (StopIteration, DynaormError):
            raise
        except Exception as raised:
            # What the flow let through is the transport's own error. A new one may come from an earlier reply, as in
            # ``after``.
            if raised is not error:
                self._check()
            raise

    def _check(self, *more: Any) -> None:
        for one in (*more, *self._last):
            check_reply(one)


def _are_many(replies: tuple[Body, ...]) -> bool:
    return len(replies) > _REMEMBERED or sum(len(reply.raw) for reply in replies) > _REMEMBERED_BYTES


def _together(step: Parallel, transport: Transport, clock: Clock, replies: Replies) -> list[Any]:
    """Return the outcome of every flow, in order, each run in a thread. If interrupted, wait for the running flows."""
    if not step.flows:
        return []
    # Ctrl-C reaches the main thread alone: without a gate, the other flows would go on with their next requests.
    gate = _Gate(transport)
    with futures.ThreadPoolExecutor(min(step.limit, len(step.flows)), "dynaorm") as pool:
        try:
            # Validators of the application may read the caller's context variables.
            running = [
                pool.submit(copy_context().run, _outcome, flow, gate, clock, replies) for flow in step.flows
            ]
            gate.open()
            return [future.result() for future in running]
        except BaseException as raised:
            stopped_by = gate.close(raised)
            # The threads that began wait at the gate, and leaving the pool waits for them.
            gate.open()
            pool.shutdown(wait=False, cancel_futures=True)
            if stopped_by is raised:
                raise
            # A flow that found the gate closed does not say by what.
            raise stopped_by from raised


def _outcome(flow: Flow[Any], gate: _Gate, clock: Clock, replies: Replies) -> Any:
    try:
        return drive(flow, gate, clock, replies)
    except Exception as failure:  # noqa: BLE001 - the flow that asked decides about errors
        return failure
    except BaseException as raised:
        # An interrupt may also be raised in a thread, by a transport: the flows beside this one end as well then.
        gate.close(raised)
        raise


class _Gate:
    """Passes calls on until a thread is interrupted. After that, each flow ends at its next call, which is not sent.

    It opens after all flows are submitted: an interrupt before that could not wait for calls that are under way.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._is_open = Event()
        self._stopped_by: list[BaseException] = []

    def open(self) -> None:
        self._is_open.set()

    def close(self, raised: BaseException) -> BaseException:
        """Pass no more calls on. Returns what closed the gate first."""
        self._stopped_by.append(raised)
        return self._stopped_by[0]

    def call(self, call: Call, /) -> Reply:
        self._is_open.wait()
        if self._stopped_by:
            # Not a NoAnswer, which the flow would take for a lost answer and repeat.
            raise KeyboardInterrupt
        return self._inner.call(call)
