"""Packs, and the space that they give back."""
