"""Adapters for agents whose hooks Holdfast supports, one package each."""
