"""Floors 1 and 2, and the few pure parts above them: rules as tables, and properties over hostile values."""
