"""Which files of the project a command names: whoever allows the command allows them, as they are.

A text can be read as a path in very many ways, and a directory has few entries. So each entry is looked for in the
command, and not each part of the command on the disk: an entry is named where its name stands there from one edge to
another, however it is quoted, and whatever stands before it. Of a directory that is named, the entries are looked for
too. No shell is asked: what it would put together while it runs, from variables or what a program prints, is not known.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shlex
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from holdfast.core.text import one_line, path_text
from holdfast.project.trust.command_line import OWN, Unfit
from holdfast.system import safe_paths

# safeguard: script-behind-equals
EDGE = re.compile(r"[\s'\"`;|&()<>=,:$\[\]{}*?!#@%+~^\\/\0]")  # where a name could begin or end, before it or behind it
FLAGS = re.compile(r"-[A-Za-z0-9]+")  # options in one word, of which the last may have its value behind it: `-sfx.mk`
BEHIND = re.compile(r"\\.|\$\{\w+-", re.DOTALL)  # as a value may: `env -S 'sh\_x.sh'`, `${X-x.sh}`
PIECE = re.compile(r"[^\s'\"`;|&()<>]+")  # what a shell would take for a word or more, but for its quoting
FRAGMENT = re.compile(r"[^=,:$\[\]{}*?!#]+")  # what could be a path inside of a piece
MODULE = re.compile(r"(?<![\w-])-[A-Za-z]*?m\s*([^\W\d]\w*(?:\.\w+)*)")  # `python3 -m tools.x`
DOTTED = re.compile(r"(?<![\w.])(-?)([^\W\d]\w*(?:\.\w+)+)")  # `import tools.x`, `pytest -ptools.x`
RUN_UNNAMED = ("__main__", "__init__", "index")  # what interpreters run of a directory that is named
ADDED = (".py", ".pyc", ".so", ".js", ".cjs", ".mjs", ".ts", ".node", ".rb", ".pm", ".lua", ".awk", ".class")  # by them
TOP = re.compile(r"(?<![^\s'\"`=:,;|&()\0])\.(?![^\s'\"`/:,;|&()\0])|pwd")  # the project: `python3 .`, `python3 $PWD`
QUOTING = re.compile(r"\\\n|['\"\\]")
SPLITTING = "();<>|&`"  # where a shell ends a word, beside blanks
QUOTED_DEEPEST = 3  # shells within shells
BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
SEQUENCE = re.compile(r"\{\w+\.\.\w+(?:\.\.-?\w+)?\}")  # `x{1..3}.sh`
ONE_OF = re.compile(r"\[[!^]?(?:\[(?!:))?(?:\[:\w+:\]|[^\[\]/])+\]")  # `x[0-9].sh`
WILD = re.compile(r"[*?]")
ANYTHING = re.compile(r"[*?.]*")  # a pattern that says nothing of what it names: `*` in SQL or JSON, `.*` of `grep`
MOST_READINGS = 64  # of one text with braces
MOST_TEXT, LONG_TEXT = 200_000, 10_000  # characters of all texts; and after how many of them to look takes longer
MOST_DIRECTORIES, MOST_FILES = 32, 100
MOST_STEPS = 100_000  # entries that are compared, and parts of paths that are followed: that takes half a second
TOO_MANY = "could name too many files to look for all of them"
LONGEST_NAME = 255
DEEPEST = 200  # parts of a path
MOST_LINKS = 40  # as the system has it
UNSTEADY = ("/proc", "/dev/fd")  # below which a path leads each process elsewhere


def named_files(words: Iterable[str], root: Path) -> dict[str, str]:
    """The files of the project that the words name: their paths in it, and where they really are."""
    search = _Search(safe_paths.real_path(os.fspath(root)))
    own = list(_own(words, root, search))
    texts = list(dict.fromkeys(_texts(own)))
    search.look(texts, _modules(own), _dotted(texts))  # safeguard: module-named, module-imported
    return {path_text(os.path.relpath(full, search.top)): full for full in sorted(search.files)}


def _own(words: Iterable[str], root: Path, search: _Search) -> Iterator[str]:
    """The words as seen from the project, without those that are files of the machine as a whole."""
    places = [place for place in (f"{{{OWN}}}", str(root), search.top) if place != os.sep]
    here = re.compile("|".join(rf"{re.escape(place)}(?![\w.-])" for place in places))
    for word in words:
        is_path = os.path.isabs(word) and PIECE.fullmatch(word) and os.path.exists(word)
        if not is_path or search.led(os.sep, word) is not None:
            yield here.sub(os.curdir, word)


def _texts(words: Iterable[str]) -> Iterator[str]:
    """All that a shell, or one within it, could read in the words."""
    texts = list(words)
    plain = [QUOTING.sub("", text) for text in texts]  # whatever shell within a shell takes it off
    for text in dict.fromkeys([*texts, *plain, *_unquoted(texts)]):  # safeguard: script-quoted-twice
        yield text
        for part in dict.fromkeys((text, *PIECE.findall(text))):
            if "{" in part:  # safeguard: script-in-braces
                yield from _without_braces(part)


def _modules(words: Iterable[str]) -> Iterator[str]:
    """The modules that Python is told to run, and the packages that they are in."""
    for module in MODULE.findall(QUOTING.sub("", " ".join(words))):
        yield from module.split(".")


def _dotted(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Names with points between their parts, which may be those of a module in packages."""
    for text in texts:
        for dash, name in DOTTED.findall(_same(text)):
            yield tuple(name.split("."))
            if dash:
                yield tuple(name[1:].split("."))


def _unquoted(texts: Iterable[str]) -> Iterator[str]:
    """What shells within shells would make of texts that are scripts: `'./my script.sh'`, `./my\\ script.sh`."""
    for _ in range(QUOTED_DEEPEST):
        texts = list(dict.fromkeys(word for text in texts for word in _shell_words(text)))
        yield from texts


def _shell_words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=SPLITTING)
    lexer.whitespace_split, lexer.commenters = True, ""
    with contextlib.suppress(ValueError):  # a quote that is not closed
        yield from lexer


def _without_braces(text: str) -> list[str]:
    """The words that a shell makes of one with braces: `x{.sh,}`."""
    found = [SEQUENCE.sub("*", text)]
    while any(map(BRACES.search, found)):
        found = [reading for each in found for reading in _readings(each)]
        if len(found) > MOST_READINGS:
            raise Unfit(TOO_MANY)
    return found


def _readings(text: str) -> list[str]:
    found = BRACES.search(text)
    parts = found[1].split(",") if found else []
    return [f"{text[: found.start()]}{part}{text[found.end() :]}" for part in parts] if found else [text]


def _paths(texts: Iterable[str]) -> Iterator[str]:
    """What could be a path as a whole."""
    for text in texts:
        for part in (text, *PIECE.findall(text)):
            yield part
            yield from FRAGMENT.findall(part)


def _upward(paths: Iterable[str]) -> Iterator[str]:
    """Paths that may lead out, as the system reads them and as `cd link/..` means them to a shell."""
    for path in paths:
        parts = path.split(os.sep)
        if os.pardir in parts:
            behind = os.sep.join(parts[parts.index(os.pardir) :])  # the beginning may be one that only a shell knows
            yield from (path.lstrip(os.sep), behind, os.path.normpath(path), os.path.normpath(behind))


def _patterns(texts: Iterable[str]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The parts of paths that a shell would compare with what there is, as in `tools/*.sh`.

    And whether that may be anywhere, as behind a directory that only a running shell knows: `$d/*.sh`.
    """
    for text in texts:
        for part in (text, *PIECE.findall(text)):
            for pattern in (part, *re.split("[=,:]", part)):
                parts = tuple(_same(ONE_OF.sub("?", pattern)).split(os.sep))
                if any(map(WILD.search, parts)):
                    is_known = not pattern.startswith((os.sep, "~")) and "$" not in pattern
                    yield parts, False
                    for number in range(1, 1 if is_known else len(parts)):
                        yield parts[number:], "$" in parts[number - 1]


def _same(name: str) -> str:
    """One form of all the names that some file system, or Python, takes for the same."""
    return unicodedata.normalize("NFKC", name).casefold()


class _Search:
    """The looking for what a command names, in the project's directories."""

    def __init__(self, top: str) -> None:
        self.top = top
        self.files: dict[str, None] = {}
        self._directories = [top]  # in the order in which they are looked into
        self._is_said = {top: True}  # whether more leads to a directory than a pattern that anything fits
        self._listed: dict[str, list[tuple[str, str]]] = {}
        self._programs: dict[str, defaultdict[str, list[str]]] = {}
        self._left = MOST_STEPS
        self._text = ""
        self._modules: set[str] = set()

    def look(self, texts: list[str], modules: Iterable[str], dotted: Iterable[tuple[str, ...]]) -> None:
        self._text = _same("\0".join(texts))  # no name holds that sign
        self._modules = set(map(_same, modules))
        if len(self._text) > MOST_TEXT:
            raise Unfit(TOO_MANY)
        paths = list(dict.fromkeys(_paths(texts)))
        if any(path.count(os.sep) > DEEPEST for path in paths):
            raise Unfit(f"names a path of more than {DEEPEST} parts")
        for path in paths:
            if os.path.isabs(path):
                self._take(os.sep, path)
        upward, patterns = list(dict.fromkeys(_upward(paths))), list(dict.fromkeys(_patterns(texts)))
        dotted = list(dict.fromkeys(dotted))
        names_top = TOP.search(self._text) is not None
        for directory in self._directories:  # they become more on the way: `cd tools && cd ci && ./x.sh`
            # safeguard: directory-entry-points
            run = self._modules.union(RUN_UNNAMED if directory != self.top or names_top else ())
            for name, same in self._list(directory):
                stem, ending = os.path.splitext(same)
                # safeguard: script-without-ending
                if same.partition(".")[0] in run or self._stands(same) or (ending in ADDED and self._stands(stem)):
                    self._take(directory, name)
            for path in upward:
                self._take(directory, path)
            for parts in dotted:
                self._import(directory, parts)
            for pattern, is_anywhere in patterns:
                # safeguard: pattern-behind-variable
                if is_anywhere or self._is_said[directory] or not all(map(ANYTHING.fullmatch, pattern)):
                    # safeguard: script-by-pattern
                    self._match(directory, pattern)  # else it would name the tree

    def led(self, directory: str, path: str) -> str | None:
        """Where a path leads in the project; None where nothing is there, or it is one of the machine."""
        here, rest, links = directory if not os.path.isabs(path) else os.sep, path.split(os.sep)[::-1], 0
        is_ours = self._holds(here)
        self._spend(len(rest))
        while rest:
            name = rest.pop()
            here = os.path.dirname(here) if name == os.pardir else os.path.normpath(os.path.join(here, name))
            is_ours = is_ours or self._holds(here)
            if here in UNSTEADY:  # safeguard: name-unsteady
                if is_ours or not links:
                    raise Unfit(f"names {one_line(path_text(path), 80)}, which leads each process elsewhere")
                return None
            with contextlib.suppress(OSError, ValueError):
                rest += os.readlink(here).split(os.sep)[::-1]
                here, links = os.sep if rest[-1] == "" else os.path.dirname(here), links + 1
                if links > MOST_LINKS:
                    return None
        if not is_ours or not os.path.exists(here):
            return None
        parts = os.path.relpath(here, self.top).lower().split(os.sep)
        if not self._holds(here) or any(part in safe_paths.FORBIDDEN for part in parts):  # safeguard: name-outside
            raise Unfit(f"names {one_line(path_text(path), 80)}, which leads out of the project")
        return here

    def _holds(self, full: str) -> bool:
        return full == self.top or full.startswith(self.top.rstrip(os.sep) + os.sep)

    def _take(self, directory: str, path: str, *, said: bool = True) -> None:
        full = self.led(directory, path)
        if full is None:
            return
        if os.path.isfile(full):
            self.files[full] = None
        elif os.path.isdir(full):
            self._enter(full, said)
        if len(self._is_said) > MOST_DIRECTORIES + 1:
            raise Unfit(f"names more than {MOST_DIRECTORIES} directories of the project")
        if len(self.files) > MOST_FILES:
            raise Unfit(f"names more than {MOST_FILES} files of the project")

    def _enter(self, full: str, said: bool) -> None:
        """Look into a directory; once more, where until now only a pattern that anything fits led there."""
        if full not in self._is_said or (said and not self._is_said[full]):  # safeguard: directory-beyond-pattern
            self._directories.append(full)  # safeguard: script-below-directory
            self._is_said[full] = said

    def _import(self, directory: str, parts: tuple[str, ...], *, is_inside: bool = False) -> None:
        """Take what a name with points leads to. Its first part alone says nothing, unless it is a program."""
        first, *rest = parts
        for name in self._called(directory, first):
            full = os.path.join(directory, name)
            if not os.path.isdir(full):
                if is_inside or os.path.splitext(name)[1] in ADDED:
                    self._take(directory, name)
            elif is_inside or self._called(full, rest[0]):
                self._take(directory, name)
                if rest:
                    self._import(full, tuple(rest), is_inside=True)

    def _called(self, directory: str, name: str) -> list[str]:
        """What an interpreter would find in a directory under a name: `x.py`, `x.cpython-311.so`, or a package `x`."""
        if directory not in self._programs:
            found = self._programs[directory] = defaultdict[str, list[str]](list)
            for each, same in self._list(directory):
                if os.path.splitext(same)[1] in ("", *ADDED):
                    found[same.partition(".")[0]].append(each)
        return self._programs[directory].get(name, [])

    def _match(self, directory: str, pattern: tuple[str, ...]) -> None:
        """Take what a pattern means in a directory."""
        first, *rest = pattern
        if first in ("", os.curdir, os.pardir):
            below = os.path.dirname(directory) if first == os.pardir else directory
            if not self._holds(below):
                raise Unfit(f"names {one_line(os.sep.join(pattern), 80)}, which leads out of the project")
            return self._match(below, tuple(rest)) if rest else None
        if len(first.replace("*", "")) > LONGEST_NAME:
            return None
        fits = re.compile(fnmatch.translate(first)).match
        for name, same in self._list(directory):
            if fits(same) and (first.startswith(".") or not same.startswith(".")):
                full = self.led(directory, name) if any(rest) else None
                if full is not None and os.path.isdir(full):
                    self._match(full, tuple(rest))
                elif full is None and ANYTHING.fullmatch(first):
                    self._take_unsaid(directory, name)
                elif full is None:
                    self._take(directory, name)
        return None

    def _take_unsaid(self, directory: str, name: str) -> None:
        """Take what any name would fit: it need not be meant, so that what is git's or ours is passed over.

        Not where the command names something in there: then it is refused.
        """
        full = os.path.join(directory, name)
        is_ours = name.lower() not in safe_paths.FORBIDDEN  # safeguard: pattern-in-forbidden
        is_meant = not is_ours and os.path.isdir(full) and any(self._stands(same) for _, same in self._list(full))
        if is_ours or is_meant:  # safeguard: store-in-repository
            self._take(directory, name, said=is_meant)

    def _list(self, directory: str) -> list[tuple[str, str]]:
        """The entries of a directory, and the one form of their names."""
        if directory not in self._listed:
            try:
                self._listed[directory] = [(name, _same(name)) for name in sorted(os.listdir(directory))]
            except FileNotFoundError:
                self._listed[directory] = []
            except OSError as error:
                name = path_text(os.path.relpath(directory, self.top))
                raise Unfit(f"names {one_line(name, 80)}, which cannot be looked into") from error
        self._spend(len(self._listed[directory]) * (1 + len(self._text) // LONG_TEXT))
        return self._listed[directory]

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:  # safeguard: name-limit
            raise Unfit(TOO_MANY)

    def _stands(self, name: str) -> bool:
        """Whether a name stands in the command, from one edge to another."""
        at = self._text.find(name)
        while at >= 0:
            if at in self._starts and at + len(name) in self._edges:
                return True
            at = self._text.find(name, at + 1)
        return False

    @cached_property
    def _edges(self) -> set[int]:
        return {0, len(self._text), *(edge for found in EDGE.finditer(self._text) for edge in found.span())}

    @cached_property
    def _starts(self) -> set[int]:
        flags = [found for found in FLAGS.finditer(self._text) if found.start() in self._edges]
        behind = {found.end() for found in BEHIND.finditer(self._text)}
        # safeguard: script-behind-options, script-behind-env
        return self._edges | behind | {at for found in flags for at in range(found.start() + 1, found.end() + 1)}
