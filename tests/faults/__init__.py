"""Faults on purpose: kill, tear, shorten or fail every state-changing system call, and cut the power at every one.

`tracer` breaks one call of one run; `explorer` does it at every call and asks a check each time; `powercut` does it on
a real file system that loses what was only in memory; `naive` holds writers that must be caught, so that a clean
`report` means something.
"""
