"""Help for tests of agents and components; imported by tests only.

environment_contract: the tests that every environment inherits.
store_contract: the tests that every parameter store inherits.
fakes: stand in for a game, a store, a clock, a stop and a report.
fake_replay: stands in for replay.
harness: builds any node of a program alone, to be stepped by hand.
in_process: stands in for servers, without processes or sockets.
terminals: a terminal that knows what a person would see on it.
faults: kills, stops, slows and cuts off nodes of a running program; fills its disk,
    or makes it read-only.
links: cuts the links to one address, for faults.
mounts: makes a folder read-only for one program, for faults.
namespaces: does something inside the namespaces of a program, for both.
"""
