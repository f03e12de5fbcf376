"""Repair of damaged stores."""
