"""One text file, of JSON or of anything else."""

from __future__ import annotations

import os

from holdfast import inside
from holdfast.sources.protocol import Found, Loaded, Unloadable, Wanted, locate, reason, said, too_large


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
        data, size = inside.read(place.full, wanted.limit + 1)
        if len(data) > wanted.limit:
            raise too_large(size, wanted.limit)
        return Loaded(inside.decode(data), len(data), place.shown, changed=inside.changed(place.full))
    except (OSError, ValueError) as error:
        raise Unloadable(reason(error), missing=isinstance(error, FileNotFoundError)) from error
