"""Agents' adapters, without a client."""
