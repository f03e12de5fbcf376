"""A command that we supervise: on a terminal of its own, waited for, and judged when it is over."""
