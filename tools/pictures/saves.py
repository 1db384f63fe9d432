"""The two pictures of a save: for users, and for readers of the code."""

from tools.pictures.flowchart import Area, Arrow, Box, flowchart


def how_a_save_works() -> str:
    """The picture of *Concepts*."""
    declaration = Box(5, 10, 260, "Declaration", ("class Page(Entity, table=app, ...)",))
    mapping = Box(5, 110, 260, "Mapping", ("keys, codecs, constraints, indexes",))
    change = Box(370, 110, 250, "Changes", ("session.save(page),", "or a transaction block"))
    plan = Box(165, 230, 300, "Plan", ("at most one action per item,", "each with its reason"), kind="main")
    nothing = Box(10, 365, 150, "Nothing is sent", kind="end")
    plain = Box(180, 365, 220, "Request", ("PutItem, UpdateItem or", "DeleteItem, with a condition"))
    transaction = Box(425, 365, 195, "Request", ("TransactWriteItems",))
    answer = Box(225, 500, 180, "Answer", kind="main")
    committed = Box(10, 600, 185, "Committed", ("the object takes over", "its new revision"), kind="end")
    again = Box(225, 600, 180, "Pause", ("then send the same", "bytes again"))
    refused = Box(420, 600, 205, "Refused", ("an error names the cause,", "no object is changed"), kind="end")
    unknown = Box(
        165, 740, 300, "Contention or Throttled", ("OutcomeUnknown after a lost answer",), kind="end"
    )
    arrows = [
        Arrow((declaration.at("s"), mapping.at("n")), "compiled once per class", (145, 88)),
        Arrow((mapping.at("s"), (135, 205), (235, 205), (235, 230))),
        Arrow((change.at("s"), (495, 205), (395, 205), (395, 230))),
        Arrow((plan.at("s", -110), (205, 335), (85, 335), nothing.at("n")), "no action", (95, 328)),
        Arrow((plan.at("s", -25), plain.at("n")), "one action", (298, 345)),
        Arrow(
            (plan.at("s", 110), (425, 335), (522, 335), transaction.at("n")), "2 to 100 actions", (435, 328)
        ),
        Arrow((plain.at("s"), (290, 500))),
        Arrow((transaction.at("s"), (522, 475), (345, 475), (345, 500))),
        Arrow((answer.at("w"), (102, 518), committed.at("n")), "success", (112, 510)),
        Arrow(
            ((270, answer.y + answer.height), (270, 600)),
            "conflict, throttled,\nno answer",
            (260, 562),
            before=True,
        ),
        Arrow(((360, 600), (360, answer.y + answer.height)), "", (0, 0)),
        Arrow((answer.at("e"), (527, 518), refused.at("n")), "a condition failed", (414, 510)),
        Arrow((again.at("s"), unknown.at("n")), "attempts used up", (325, 715)),
    ]
    boxes = [
        declaration, mapping, change, plan, nothing, plain, transaction, answer, committed, again, refused, unknown,
    ]  # fmt: skip
    return flowchart(
        "How a save works: from the declaration to the answer of DynamoDB", (630, 810), boxes, arrows
    )


def how_a_save_travels() -> str:
    """The picture of *How a save travels*."""
    call = Box(225, 10, 220, "session.save(user)", file="session/session.py")
    intent = Box(215, 125, 240, "Intent", ("what the caller asked",), "intent.py")
    merged = Box(215, 230, 240, "ItemIntents", ("one per item, with valid values",), "changes.py")
    change = Box(
        215, 335, 240, "ItemChange", ("what becomes of each item",), "changes.py, values.py, edit.py"
    )
    planned = Box(
        185, 440, 300, "Planned", ("one action per item, and what follows:", "guards, versions, totals, a token item"),
        "compiler.py, kinds/",
    )  # fmt: skip
    plan = Box(
        175, 564, 320, "Plan", ("the request, with the reason of each action",), "plan.py", kind="main"
    )
    nothing = Box(20, 680, 140, "Nothing is sent", kind="end")
    read = Box(535, 335, 135, "Read", ("consistently",), "flow/commit.py")
    attempt = Box(225, 720, 220, "One attempt", file="write.py")
    transport = Box(535, 720, 135, "One request", file="transport/")
    event = Box(225, 806, 220, "Event", ("what happened",), "write.py")
    step = Box(225, 911, 220, "Step", ("what follows from it",), "write_endings.py", kind="main")
    committed = Box(
        10, 1050, 205, "Committed", ("the object becomes", "what is stored"), "write.py", kind="end"
    )
    verdict = Box(235, 1050, 200, "Verdict", ("whose fault it is",), "plan/compiler.py")
    unknown = Box(
        455, 1050, 215, "OutcomeUnknown", ("with the plan, for", "session.resume(plan)"), kind="end"
    )
    error = Box(215, 1180, 240, "An error", ("names the cause;", "no object is changed"), kind="end")
    arrows = [
        Arrow((call.at("s"), intent.at("n"))),
        Arrow((intent.at("s"), merged.at("n"))),
        Arrow((merged.at("s"), change.at("n"))),
        Arrow((change.at("s"), planned.at("n"))),
        Arrow((planned.at("s"), plan.at("n"))),
        Arrow((merged.at("e"), (602, merged.at("e")[1]), read.at("n")), "needs a stored item", (465, 258)),
        Arrow((read.at("w"), change.at("e"))),
        Arrow((plan.at("w"), (90, plan.at("w")[1]), nothing.at("n")), "no action", (98, 588)),
        Arrow((plan.at("s"), attempt.at("n"))),
        Arrow((attempt.at("e"), transport.at("w"))),
        Arrow((attempt.at("s"), event.at("n"))),
        Arrow((event.at("s"), step.at("n"))),
        Arrow((step.at("w"), (190, 948), (190, 748), attempt.at("w")), "again", (182, 850), before=True),
        Arrow((step.at("s", -70), (265, 1020), (112, 1020), committed.at("n")), "committed", (122, 1013)),
        Arrow((step.at("s"), verdict.at("n")), "refused", (345, 1013)),
        Arrow((step.at("s", 70), (405, 1020), (562, 1020), unknown.at("n")), "nobody knows", (460, 1013)),
        Arrow((verdict.at("s"), error.at("n")), "the caller's to solve", (345, 1160)),
        Arrow(
            (verdict.at("e", 25), (445, 1112), (445, 1150), (685, 1150), (685, 372), read.at("e")),
            "what was read is out of date", (500, 1143),
        ),
    ]  # fmt: skip
    boxes = [
        call, intent, merged, change, planned, plan, nothing, read, attempt, transport, event, step, committed, verdict,
        unknown, error,
    ]  # fmt: skip
    areas = [
        Area(165, 92, 340, 563, "plan: no I/O"),
        Area(165, 668, 340, 337, "flow"),
    ]
    return flowchart(
        "How a save travels through the modules of dynaorm", (700, 1270), boxes, arrows, areas=areas
    )
