"""Scripts that run agents: flags to config to program to launch."""
