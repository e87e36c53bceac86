"""Tests that run the real Claude Code client against a stand-in for its API, without a network."""
