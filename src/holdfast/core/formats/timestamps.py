"""Times as people read them, and as the files of other systems write them."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum


class Zone(Enum):
    """In which zone a time is printed, and whether its name is."""

    LOCAL = "local"  # for people, who know where they are
    NAMED = "named"  # local, with its offset: for documents, and with --verbose
    UTC = "UTC"  # in JSON


def shown(time: datetime, zone: Zone = Zone.NAMED, *, seconds: bool = False) -> str:
    """A time in the only form in which one is printed."""
    there = _in_zone(time, zone)
    text = f"{there:%Y-%m-%d %H:%M:%S}" if seconds else f"{there:%Y-%m-%d %H:%M}"
    if zone is Zone.LOCAL:
        return text
    offset = f"{there:%z}"
    return f"{text} {offset[:3]}:{offset[3:5]}" if there.utcoffset() else f"{text} UTC"


def ago(time: datetime, now: datetime) -> str:
    """How long ago a time was, in its largest unit."""
    seconds = int((now - time).total_seconds())
    if seconds < -60:
        return "in the future: a clock was wrong"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def day(time: datetime) -> str:
    """The local date."""
    return f"{_in_zone(time, Zone.LOCAL):%Y-%m-%d}"


def _in_zone(time: datetime, zone: Zone) -> datetime:
    try:
        return time.astimezone(UTC if zone is Zone.UTC else None)
    except (OverflowError, ValueError, OSError):  # at either end of the calendar no other zone can be reckoned
        return time


def stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: object) -> datetime | None:
    """A time as these files write it: with a Z, an offset, or nothing, which means UTC; None for anything else."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
