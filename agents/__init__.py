"""Agents: one folder per paper."""
