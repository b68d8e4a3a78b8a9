import launchpad as lp

from rlcomponents.launching import describe


def test_shows_groups_sizes_and_who_calls_whom():
    program = lp.Program("gorila")
    with program.group("parameters"):
        shards = [program.add_node(lp.CourierNode(object)) for _ in range(2)]
    with program.group("bundle"):
        for _ in range(10):
            bundle = program.add_node(lp.CourierNode(object, shards))
    with program.group("coordinator"):
        program.add_node(lp.PyNode(print, shards, last=bundle))
    assert describe.describe(program).splitlines() == [
        "gorila: 13 nodes",
        "  parameters   x  2",
        "  bundle       x 10  -> parameters",
        "  coordinator  x  1  -> parameters, bundle",
    ]


def test_one_node_is_one_node():
    program = lp.Program("small")
    program.add_node(lp.PyNode(print), label="only")
    assert describe.describe(program) == "small: 1 node\n  only  x 1"
