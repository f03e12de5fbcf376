"""Load the artifacts of a FABER run, each from its source and within the limits; every omission is reported."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec

from holdfast.core.errors import WorkflowError
from holdfast.core.text import one_line, path_text
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.artifact_rules import Choice, Declared
from holdfast.layouts.faber.files import Target
from holdfast.layouts.faber.screens import LEFT_OUT, LOADED, MISSING, NOT_RUN, SKIPPED, ArtifactReport
from holdfast.layouts.faber.workflows import find_executable, plugin_of
from holdfast.layouts.results import LoadRequest
from holdfast.project.artifacts import protocol as sources
from holdfast.project.artifacts.command import IN_A_HOOK, permit
from holdfast.project.trust import judge
from holdfast.project.workspace import Workspace

KILOBYTE = 1024
PLUGIN = "plugins/faber/"
COPIED = ("id", "kind", "required", "path", "path_from_state", "command", "condition")
TO_FIND = (
    "Check if path is correct in workflow config",
    "Check if artifact was created in earlier phase",
    "Run the phase that creates this artifact",
)
HEADINGS, KEYS, LINES, WIDTH = 20, 30, 5, 160
HEADING = re.compile(r"^#{1,4} .+$", re.MULTILINE)
TOKEN = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*+:)?|[{}\[\]]|"', re.DOTALL)  # of JSON; a lone quote is never closed


class Unset(sources.Unloadable):
    """A value that the state does not have yet: an optional artifact without it is not worth a warning."""


class Loader:
    def __init__(
        self,
        workspace: Workspace,
        target: Target,
        warnings: list[str],
        request: LoadRequest,
        definitions: tuple[Path, ...],
    ) -> None:
        self.workspace = workspace
        self.target = target
        self.warnings = warnings
        self.request = request
        self.definitions = definitions  # the files of the workflow
        self.used = 0
        self.large = workspace.settings.whole("artifact.warn") * KILOBYTE
        self.limit = workspace.settings.whole("artifact.limit") * KILOBYTE
        self.plugin = plugin_of(workspace)
        self.values = schema.placeholders(target.state, target.run, workspace.root)

    def look(self, choice: Choice) -> ArtifactReport:
        """Report what a load would find."""
        report, wanted = _reported(choice), None
        try:
            wanted = self._wanted(choice.artifact)
        except sources.Unloadable as error:
            report.exists, report.why = False, report.why or error.why
        else:
            source = _source(choice)
            found = source.look(wanted)
            report.resolved = self._absolute(wanted, found.shown)
            report.exists, report.size = found.exists, found.size
            report.why = report.why or (found.why or "" if not found.exists else "")
            if found.exists and _is_summarised(choice.artifact):
                try:
                    report.size = len(self._summary(report.kind, source.load(wanted)).encode())
                except sources.Unloadable as error:
                    report.exists, report.why = not error.missing, error.why
        if choice.load:
            self._foresee(report, wanted)
        return report

    def _summary(self, kind: str, loaded: sources.Loaded) -> str:
        """Summarize a long text. Secrets are masked first: half of one is not recognized."""
        text: str = self.workspace.hide(loaded.text)  # safeguard: hide-summarised-artifact
        short = summary(kind, text, None if loaded.whole else loaded.size)
        return text if loaded.whole and len(text) <= len(short) else short

    def _absolute(self, wanted: sources.Wanted, shown: str) -> str | None:
        """The absolute form of a path, which may be in the project or in FABER's plugin."""
        if wanted.path is None or not shown:
            return shown or None
        return os.path.join(path_text(wanted.root), shown)

    def _foresee(self, report: ArtifactReport, wanted: sources.Wanted | None) -> None:
        size = report.size or 0
        if not report.exists:
            report.outcome = MISSING
        elif report.kind in sources.COMMANDS and wanted is not None and not wanted.words:
            report.outcome, report.why = NOT_RUN, wanted.why
        elif size > self.limit:
            report.outcome, report.why = LEFT_OUT, f"is larger than {self.limit:,} bytes"
        else:
            self._make_room(report, size)

    def _make_room(self, report: ArtifactReport, size: int) -> bool:
        """Let an artifact be loaded if it fits into what is left of the budget."""
        budget, needed = self.request.budget, size + self.request.each
        if self.used + needed > budget:
            report.outcome, report.why = LEFT_OUT, f"its {size:,} bytes do not fit into what is left of {budget:,}"
            return False
        self.used += needed
        report.outcome = LOADED
        return True

    def load(self, choice: Choice) -> ArtifactReport:
        report = _reported(choice)
        if not choice.load:
            return report
        artifact = choice.artifact
        try:
            wanted = self._wanted(artifact)
            report.resolved = wanted.path or wanted.command
            loaded = _source(choice).load(wanted)
        except sources.Unloadable as error:
            return self._missing(report, error)
        if not loaded.ran:
            self._refuse_required(report, wanted)
            report.why = wanted.why
        if loaded.ran and _is_summarised(artifact):
            loaded.text = self._summary(artifact.kind, loaded)
            loaded.size = len(loaded.text.encode())
        else:
            loaded.text = self.workspace.hide(loaded.text)  # safeguard: hide-loaded-artifact
        if wanted.root != self.workspace.root:
            loaded.source = self._absolute(wanted, loaded.source) or ""
        return self._take(report, loaded)

    def _refuse_required(self, report: ArtifactReport, wanted: sources.Wanted) -> None:
        """Refuse a load without a required command's output. A hook leaves an allowed command to the model."""
        if not report.required or wanted.why == IN_A_HOOK:
            return
        step = wanted.hint or f"Type {one_line(report.resolved or '', 200)} in the client, which alone can run it"
        raise WorkflowError(
            "Required artifact was not loaded",
            [("Artifact", report.id), ("Command", report.resolved or ""), ("Error", f"not run: {wanted.why}")],
            [
                step,
                "Load others only: `holdfast session-load --artifacts ID,ID`",
                "Set required: false in the workflow config if the run can go on without it",
            ],
        )

    def _take(self, report: ArtifactReport, loaded: sources.Loaded) -> ArtifactReport:
        report.resolved, report.size, report.exists = loaded.source, loaded.size, True
        report.changed = loaded.changed
        self.warnings += [f"{report.id}: {note}" for note in loaded.notes]
        if not loaded.ran:
            report.outcome, report.content = NOT_RUN, loaded.text
            return report
        if not self._make_room(report, loaded.size):
            report.content = summary(report.kind, loaded.text)
            return report
        if loaded.size > self.large:
            megabytes = f"{loaded.size / KILOBYTE / KILOBYTE:.1f}"
            self.warnings.append(
                f"Large artifact detected\nArtifact: {report.id}\nSize: {megabytes} MB\n\n"
                'Consider using load_strategy: "summary" for large files.'
            )
        report.content = loaded.text
        return report

    def _missing(self, report: ArtifactReport, error: sources.Unloadable) -> ArtifactReport:
        where = report.resolved or report.path or report.path_from_state or report.command or "none"
        is_plugin = (report.path or "").startswith(PLUGIN) and error.missing
        if is_plugin:
            where = f"{report.path}, and in the plugin at {self.plugin or 'no known place'}"
        if report.required and not is_plugin:
            raise _required(report, where, error)
        report.outcome = LEFT_OUT if error.size is not None else MISSING
        report.why, report.exists, report.size = error.why, not error.missing, error.size
        if error.size is not None:
            report.content = f"Not loaded: it {error.why} ({error.size:,} bytes). Read the part that you need.\n"
        if not isinstance(error, Unset):
            hint = f"\n{error.hint}" if error.hint else ""
            facts = f"Artifact: {report.id}\n{_place(report)}: {one_line(where, 300)} ({error.why}){hint}"
            self.warnings.append(f"{_what(error)}\n{facts}\n\nWorkflow will continue without this artifact.")
        return report

    def _wanted(self, artifact: Declared) -> sources.Wanted:
        """The request to a source, with its placeholders filled in; raises Unloadable."""
        given = artifact.path
        if artifact.path_from_state is not None and artifact.path is None:
            found = schema.at(self.target.state, artifact.path_from_state.removeprefix("state."))
            if not isinstance(found, str) or not found.strip():
                raise Unset(f"the state has no {one_line(artifact.path_from_state, 80)}", missing=True)
            given = found
        text = given if artifact.kind in sources.PATHS else artifact.command
        if text is None:
            raise sources.Unloadable("it names neither a path nor a command", missing=True)
        filled = schema.fill(text, self.values)
        if filled is None:
            names = ", ".join(schema.unfilled(text, self.values))
            raise sources.Unloadable(f"the placeholder {one_line(names, 80)} has no value", missing=True)
        wanted = sources.Wanted(
            artifact.id, artifact.kind, self.workspace.root, strategy=artifact.strategy, limit=self.limit
        )
        if artifact.kind in sources.PATHS:
            wanted.root, wanted.path = self._at_home(filled)
        else:
            wanted.command = filled
        if artifact.kind in sources.COMMANDS:
            verdict = judge(self.workspace, map(find_executable, self.definitions), text, self.values)
            how = f"`holdfast session-load --artifacts {shlex.quote(wanted.id)}` runs it"
            permit(wanted, verdict, self.workspace, runs=self.request.runs, how=how)
        return wanted

    def _at_home(self, path: str) -> tuple[Path, str]:
        """The root and path of an artifact: the run's state may be at an older place, FABER's files in its plugin."""
        root = self.workspace.root
        if os.path.lexists(root / path):
            return root, path
        if (root / path) in schema.state_candidates(root, self.target.run):
            return root, str(self.target.file.path)
        if path.startswith(PLUGIN) and self.plugin is not None:
            return self.plugin, path.removeprefix(PLUGIN)
        return root, path


def _reported(choice: Choice) -> ArtifactReport:
    declared, outcome = choice.artifact, "" if choice.load else SKIPPED
    same = {name: getattr(declared, name) for name in COPIED}
    return ArtifactReport(**same, description=declared.about, outcome=outcome, why=choice.why)


def _source(choice: Choice) -> sources.Source:
    source = sources.find_source(choice.artifact.kind)
    assert source is not None
    return source


def _is_summarised(artifact: Declared) -> bool:
    return artifact.strategy == sources.SUMMARY and artifact.kind != "directory"  # its source does that itself


def _what(error: sources.Unloadable) -> str:
    if error.size is not None:
        return "Large artifact was left out"
    return "Optional artifact not found" if error.missing else "Optional artifact cannot be loaded"


def _place(report: ArtifactReport) -> str:
    return "Path" if report.kind in sources.PATHS else "Command"


def _required(report: ArtifactReport, where: str, error: sources.Unloadable) -> WorkflowError:
    facts = [("Artifact", report.id), (_place(report), where)]
    if error.size is not None:
        steps = ["`holdfast config set artifact.limit KILOBYTES`"]  # the length of a command's output is not known
        if report.kind in sources.PATHS:
            limit = f"`holdfast config set artifact.limit {-(-error.size // KILOBYTE)}`"
            steps = ['Use load_strategy: "summary" in the workflow config', limit]
        return WorkflowError("Required artifact is too large", [*facts, ("Size", f"{error.size:,} bytes")], steps)
    message = "Required artifact not found" if error.missing else "Required artifact cannot be loaded"
    return WorkflowError(message, [*facts, ("Error", error.why)], [*([error.hint] if error.hint else []), *TO_FIND])


def summary(kind: str, text: str, size: int | None = None) -> str:
    """Summarize a text: its size, its headings or keys, its first lines. `size` is the full one of a truncated text.

    The line at which a text was truncated is left out, except for whole keys: it may hold half a secret.
    """
    if size is None:
        lines, number = text, text.count("\n") + 1
        length = f"{len(text):,} characters, {number:,} lines"
    else:
        lines, number = text.rpartition("\n")[0], text.count("\n")
        length = f"{size:,} bytes"
    shown = _keys(text) if kind == "json" else _headings(lines)
    if not shown and lines:
        begin = lines[: LINES * 1_000].splitlines()[:LINES]
        shown = ["It begins:", *(f"  {one_line(line, WIDTH)}" for line in begin)]
    said = f"Not loaded whole: {length}. Read the part that you need."
    if size is not None and shown:
        said += f" Of the first {f'{number:,} lines' if number else f'{len(text):,} characters'}:"
    return "\n".join([said, *shown]) + "\n"


def _headings(text: str) -> list[str]:
    found = HEADING.findall(text)
    more = [f"  and {len(found) - HEADINGS:,} more"] if len(found) > HEADINGS else []
    return ["Its headings:", *(f"  {one_line(line, WIDTH)}" for line in found[:HEADINGS]), *more] if found else []


def _keys(text: str) -> list[str]:
    found = list(itertools.islice(_members(text), KEYS + 1))
    names = ", ".join(one_line(name, 40) for name in found[:KEYS])
    return [f"Its keys: {names}{' and more' if len(found) > KEYS else ''}"] if found else []


def _members(text: str) -> Iterator[str]:
    depth, known = 0, set[str]()
    for token in TOKEN.finditer(text):
        string, colon = token.groups()
        if string is not None:
            if depth == 1 and colon and string not in known:
                known.add(string)
                with contextlib.suppress(msgspec.MsgspecError, ValueError):
                    yield msgspec.json.decode(string, type=str)
        elif (depth == 0 and token[0] != "{") or token[0] == '"':
            return
        else:
            depth += 1 if token[0] in "{[" else -1
