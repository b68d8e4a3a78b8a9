import launchpad as lp

from rlcomponents.launching import graph


def test_names_nodes_and_whom_they_call():
    program = lp.Program("two")
    with program.group("a"):
        handles = [program.add_node(lp.CourierNode(object)) for _ in range(2)]
    program.add_node(lp.PyNode(print, handles[1], also=handles[0]), label="b")
    assert [name for name, _ in graph.named_nodes(program)] == ["a/0", "a/1", "b/0"]
    calls = graph.calls(program)
    assert (calls["a/0"], calls["a/1"]) == ([], [])
    assert sorted(calls["b/0"]) == ["a/0", "a/1"]
    assert graph.group_of("b/0") == "b"
