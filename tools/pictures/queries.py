"""The picture of a query: from the chain to entities."""

from tools.pictures.flowchart import Area, Arrow, Box, flowchart


def how_a_query_travels() -> str:
    """The picture of *How a query travels*."""
    call = Box(205, 10, 260, "session.query(Ticket, ...)", file="session/query.py, chain.py")
    spec = Box(215, 125, 240, "QuerySpec", ("what is looked for",), "query_spec.py")
    form = Box(
        185, 230, 300, "SourceForm, KeyCondition", ("which key serves it,", "and which range of it is read"),
        "choose_key.py, key_range.py",
    )  # fmt: skip
    filtered = Box(535, 230, 150, "Filter", ("by DynamoDB,", "or in memory"), "filter.py")
    queries = Box(
        175, 368, 320, "KeyQueries", ("one request per partition,", "and what of its items is wanted"),
        "key_query.py", kind="main",
    )  # fmt: skip
    explained = Box(20, 500, 130, "explain()", ("in words",), "explain.py", kind="end")
    walk = Box(225, 545, 220, "Walk", ("pages, as they are needed",), "walk.py", kind="main")
    transport = Box(535, 545, 150, "One request", ("Query or Scan",), "transport/")
    buffered = Box(215, 650, 240, "Entities, or items", ("of the wanted classes",), "wanted.py, wanted.py")
    merged = Box(215, 755, 240, "In the order of keys", ("of all partitions",), "walk.py")
    fetched = Box(535, 755, 150, "Whole items", ("of index entries",), "flow/read.py")
    results = Box(95, 910, 220, "Entities, rows or keys", ("validated",), "results.py", kind="end")
    cursor = Box(345, 910, 230, "Cursor", ("where the next page begins",), "cursor.py", kind="end")
    arrows = [
        Arrow((call.at("s"), spec.at("n"))),
        Arrow((spec.at("s"), form.at("n"))),
        Arrow((spec.at("e"), (610, spec.at("e")[1]), filtered.at("n")), "filter(...)", (490, 153)),
        Arrow((form.at("s"), queries.at("n"))),
        Arrow((filtered.at("s"), (610, queries.at("e")[1]), queries.at("e"))),
        Arrow((queries.at("w"), (85, queries.at("w")[1]), explained.at("n"))),
        Arrow((queries.at("s"), walk.at("n"))),
        Arrow((walk.at("e"), transport.at("w"))),
        Arrow((walk.at("s"), buffered.at("n"))),
        Arrow((buffered.at("s"), merged.at("n"))),
        Arrow((merged.at("e"), fetched.at("w"))),
        Arrow(
            (buffered.at("w"), (190, buffered.at("w")[1]), (190, walk.at("w")[1]), walk.at("w")),
            "too few", (182, 630), before=True,
        ),
        Arrow((merged.at("s", -60), (275, 880), (205, 880), results.at("n"))),
        Arrow((merged.at("s", 60), (395, 880), (460, 880), cursor.at("n")), "page(...)", (467, 873)),
    ]  # fmt: skip
    boxes = [
        call, spec, form, filtered, queries, explained, walk, transport, buffered, merged, fetched, results, cursor,
    ]  # fmt: skip
    areas = [
        Area(165, 92, 340, 385, "query: no I/O"),
        Area(165, 512, 340, 345, "flow"),
    ]
    return flowchart(
        "How a query travels through the modules of dynaorm", (700, 1010), boxes, arrows, areas=areas
    )
