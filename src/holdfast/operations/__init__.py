"""The verbs: a file each. Registered by `verb.py`."""
