"""The systems whose runs we keep, each with its own meaning of what an agent does."""

from __future__ import annotations

from holdfast.layouts import native
from holdfast.layouts.faber import schema
from holdfast.layouts.goteam import follow as goteam
from holdfast.layouts.orchestrator import follow as orchestrator
from holdfast.layouts.protocol import Layout

LAYOUTS: dict[str, Layout] = {"native": native, "faber": schema, "orchestrator": orchestrator, "go-team": goteam}


def find_layout(name: str) -> Layout:
    """The layout of that name; a run of one that this version does not know is kept as one of our own."""
    return LAYOUTS.get(name, native)
