"""The house itself: which way imports go, who may do what, and that everything is named where people look for it."""
