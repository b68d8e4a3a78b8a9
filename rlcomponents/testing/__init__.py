"""Help for tests of agents and components; imported by tests only.

environment_contract: the tests that every environment inherits.
store_contract: the tests that every parameter store inherits.
harness: builds any node of a program alone, to be stepped by hand.
in_process: stands in for servers, without processes or sockets.
"""
