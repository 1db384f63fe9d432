"""Driving a flow over a transport: the whole difference between a synchronous and an asynchronous session."""

from typing import TypeVar

from dynaorm.flow.call import Clock, Flow, Pause, Reply, Transport

T = TypeVar("T")


def drive(flow: Flow[T], transport: Transport, clock: Clock) -> T:
    """Run a flow to its end, one call at a time. Whatever a call raises is thrown into the flow."""
    try:
        step = next(flow)
        while True:
            try:
                reply: Reply = {}
                if isinstance(step, Pause):
                    clock.pause(step.seconds)
                else:
                    reply = transport.call(step)
            except BaseException as raised:  # noqa: BLE001 - Ctrl-C too: the flow has to know that no answer came
                step = flow.throw(raised)
            else:
                step = flow.send(reply)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()
