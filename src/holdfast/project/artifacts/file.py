"""One text file, of JSON or of anything else. For a summary, a file beyond the limit is read up to the limit."""

from __future__ import annotations

import os

from holdfast.project.artifacts.protocol import (
    SUMMARY,
    Found,
    Loaded,
    Unloadable,
    Wanted,
    locate,
    reason,
    said,
    too_large,
)
from holdfast.system import safe_paths


def look(wanted: Wanted) -> Found:
    try:
        place = locate(wanted)
        status = os.stat(place.full)
    except Unloadable as error:
        return Found(False, None, said(wanted.path), error.why)
    except OSError as error:
        return Found(False, None, said(wanted.path), reason(error))
    if not os.path.isfile(place.full):
        return Found(False, None, place.shown, "is not a regular file")
    return Found(True, status.st_size, place.shown)


def load(wanted: Wanted) -> Loaded:
    place = locate(wanted)
    try:
        data, size = safe_paths.read(place.full, wanted.limit + 1)
        if len(data) > wanted.limit:
            if wanted.strategy != SUMMARY:
                raise too_large(size, wanted.limit)
            data = data[: wanted.limit]
        changed = safe_paths.changed(place.full)
        return Loaded(safe_paths.decode(data), size, place.shown, whole=len(data) == size, changed=changed)
    except (OSError, ValueError) as error:
        raise Unloadable(reason(error), missing=isinstance(error, FileNotFoundError)) from error
