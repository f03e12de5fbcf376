"""Fetching the artifacts of one load: each from its source, within the limits, and nothing in silence."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from holdfast.core.errors import WorkflowError
from holdfast.core.text import one_line, path_text
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.artifact_rules import Choice, Declared
from holdfast.layouts.faber.find_run import Target
from holdfast.layouts.faber.screens import LEFT_OUT, LOADED, MISSING, NOT_RUN, SKIPPED, ArtifactReport
from holdfast.layouts.faber.summaries import summary
from holdfast.layouts.faber.workflows import find_executable, plugin_root
from holdfast.project.artifacts.command import IN_A_HOOK, permit
from holdfast.project.artifacts.protocol import (
    COMMANDS,
    PATHS,
    SUMMARY,
    Loaded,
    Source,
    Unloadable,
    Wanted,
    find_source,
)
from holdfast.project.trust import judge
from holdfast.project.workspace import Workspace

KILOBYTE = 1024
PLUGIN = "plugins/faber/"
UNSAID = "the state has no"


class Fetching:
    """The loading of one run's artifacts, within the limits."""

    def __init__(
        self,
        workspace: Workspace,
        target: Target,
        warnings: list[str],
        each: int = 0,
        definitions: tuple[Path, ...] = (),
        runs: bool = True,
    ) -> None:
        self.workspace = workspace
        self.target = target
        self.warnings = warnings
        self.used = 0
        self.each = each
        self.definitions = definitions  # the files that the workflow comes from
        self.runs = runs  # whether commands are run that the user has allowed
        settings = workspace.settings
        self.large = settings.whole("artifact.warn") * KILOBYTE
        self.limit = settings.whole("artifact.limit") * KILOBYTE
        self.plugin = plugin_root(workspace.environ, str(settings.values["faber.plugin_root"].value))
        self.values = schema.placeholders(target.state, target.run, workspace.root)

    def look(self, choice: Choice, budget: int) -> ArtifactReport:
        """What a load would find."""
        report = _reported(choice)
        wanted, why = self._wanted(choice.artifact)
        source = find_source(choice.artifact.kind)
        if wanted is None or source is None:
            report.exists, report.why = False, report.why or why
        else:
            found = source.look(wanted)
            report.resolved = self._absolute(wanted, found.shown)
            report.exists, report.size = found.exists, found.size
            report.why = report.why or (found.why or "" if not found.exists else "")
            if found.exists and _is_summarised(choice.artifact):
                self._measure(report, source, wanted)
        if choice.load:
            self._foresee(report, budget, wanted)
        return report

    def _measure(self, report: ArtifactReport, source: Source, wanted: Wanted) -> None:
        """The size of the summary, which is what a load takes; that of a file needs a look into it."""
        try:
            report.size = len(self._summary(report.kind, source.load(wanted)).encode())
        except Unloadable as error:
            report.exists, report.why = not error.missing, error.why

    def _summary(self, kind: str, loaded: Loaded) -> str:
        """A text in short, unless it is short itself. Secrets go first: half of one is not recognised."""
        text: str = self.workspace.hide(loaded.text)  # safeguard: hide-summarised-artifact
        short = summary(kind, text, None if loaded.whole else loaded.size)
        return text if loaded.whole and len(text) <= len(short) else short

    def _absolute(self, wanted: Wanted, shown: str) -> str | None:
        """Where a path leads, in full: it may lie in the project or in FABER's plugin. A command stays as it is."""
        if wanted.path is None or not shown:
            return shown or None
        return os.path.join(path_text(wanted.root), shown)

    def _foresee(self, report: ArtifactReport, budget: int, wanted: Wanted | None) -> None:
        """What would become of an artifact that was looked at, by the rules of a load."""
        size = report.size or 0
        if not report.exists:
            report.outcome = MISSING
        elif report.kind in COMMANDS and wanted is not None and not wanted.words:
            report.outcome, report.why = NOT_RUN, wanted.why
        elif size > self.limit:
            report.outcome, report.why = LEFT_OUT, f"is larger than {self.limit:,} bytes"
        elif not self._has_room(size, budget):
            report.outcome, report.why = LEFT_OUT, _no_room(size, budget)
        else:
            report.outcome = LOADED

    def _has_room(self, size: int, budget: int) -> bool:
        if self.used + size + self.each > budget:
            return False
        self.used += size + self.each
        return True

    def load(self, choice: Choice, budget: int) -> ArtifactReport:
        report = _reported(choice)
        if not choice.load:
            return report
        artifact = choice.artifact
        wanted, why = self._wanted(artifact)
        report.resolved = wanted.path or wanted.command if wanted else None
        if wanted is None:
            return self._missing(report, Unloadable(why, missing=True), quiet=why.startswith(UNSAID))
        source = find_source(artifact.kind)
        assert source is not None
        try:
            loaded = source.load(wanted)
        except Unloadable as error:
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
        return self._take(report, loaded, budget)

    def _refuse_required(self, report: ArtifactReport, wanted: Wanted) -> None:
        """Stop a load that lacks a required command's output. A hook leaves an allowed command to the model."""
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

    def _take(self, report: ArtifactReport, loaded: Loaded, budget: int) -> ArtifactReport:
        report.resolved, report.size, report.exists = loaded.source, loaded.size, True
        report.changed = loaded.changed
        self.warnings += [f"{report.id}: {note}" for note in loaded.notes]
        if not loaded.ran:
            report.outcome, report.content = NOT_RUN, loaded.text
            return report
        if not self._has_room(loaded.size, budget):
            report.outcome, report.why = LEFT_OUT, _no_room(loaded.size, budget)
            report.content = summary(report.kind, loaded.text)
            return report
        if loaded.size > self.large:
            megabytes = f"{loaded.size / KILOBYTE / KILOBYTE:.1f}"
            self.warnings.append(
                f"Large artifact detected\nArtifact: {report.id}\nSize: {megabytes} MB\n\n"
                'Consider using load_strategy: "summary" for large files.'
            )
        report.outcome, report.content = LOADED, loaded.text
        return report

    def _missing(self, report: ArtifactReport, error: Unloadable, quiet: bool = False) -> ArtifactReport:
        """What could not be loaded: a required artifact stops the load, an optional one is told of."""
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
        if not quiet:
            hint = f"\n{error.hint}" if error.hint else ""
            facts = f"Artifact: {report.id}\n{_place(report)}: {one_line(where, 300)} ({error.why}){hint}"
            self.warnings.append(f"{_what(error)}\n{facts}\n\nWorkflow will continue without this artifact.")
        return report

    def _wanted(self, artifact: Declared) -> tuple[Wanted | None, str]:
        """What is asked of a source, placeholders filled in; or why nothing can be asked for."""
        given = artifact.path
        if artifact.path_from_state is not None and artifact.path is None:
            found = schema.at(self.target.state, artifact.path_from_state.removeprefix("state."))
            if not isinstance(found, str) or not found.strip():
                return None, f"{UNSAID} {one_line(artifact.path_from_state, 80)}"
            given = found
        text = given if artifact.kind in PATHS else artifact.command
        if text is None:
            return None, "it names neither a path nor a command"
        filled = schema.fill(text, self.values)
        if filled is None:
            names = ", ".join(schema.unfilled(text, self.values))
            return None, f"the placeholder {one_line(names, 80)} has no value"
        wanted = Wanted(artifact.id, artifact.kind, self.workspace.root, strategy=artifact.strategy, limit=self.limit)
        if artifact.kind in PATHS:
            wanted.root, wanted.path = self._at_home(filled)
        else:
            wanted.command = filled
        if artifact.kind in COMMANDS:
            self._judge(wanted, text)
        return wanted, ""

    def _judge(self, wanted: Wanted, command: str) -> None:
        """Whether a command may run, which only the user decides."""
        verdict = judge(self.workspace, map(find_executable, self.definitions), command, self.values)
        how = f"`holdfast session-load --artifacts {shlex.quote(wanted.id)}` runs it"
        permit(wanted, verdict, self.workspace, runs=self.runs, how=how)

    def _at_home(self, path: str) -> tuple[Path, str]:
        """A path that means the run's own state leads to where that really is; FABER's own files lie in its plugin."""
        root = self.workspace.root
        if os.path.lexists(root / path):
            return root, path
        if (root / path) in schema.state_candidates(root, self.target.run):
            return root, str(self.target.face.path)
        if path.startswith(PLUGIN) and self.plugin is not None:
            return self.plugin, path.removeprefix(PLUGIN)
        return root, path


def _reported(choice: Choice) -> ArtifactReport:
    artifact = choice.artifact
    return ArtifactReport(
        artifact.id,
        artifact.kind,
        artifact.about,
        artifact.required,
        SKIPPED if not choice.load else "",
        choice.why,
        artifact.path,
        artifact.path_from_state,
        artifact.command,
        artifact.condition,
    )


def _is_summarised(artifact: Declared) -> bool:
    """Whether a text is told in short. A directory's source does that itself."""
    return artifact.strategy == SUMMARY and artifact.kind != "directory"


def _what(error: Unloadable) -> str:
    if error.size is not None:
        return "Large artifact was left out"
    return "Optional artifact not found" if error.missing else "Optional artifact cannot be loaded"


def _place(report: ArtifactReport) -> str:
    return "Path" if report.kind in PATHS else "Command"


def _no_room(size: int, budget: int) -> str:
    return f"its {size:,} bytes do not fit into what is left of {budget:,}"


def _required(report: ArtifactReport, where: str, error: Unloadable) -> WorkflowError:
    if error.size is not None:
        facts = [("Artifact", report.id), (_place(report), where), ("Size", f"{error.size:,} bytes")]
        kilobytes = -(-error.size // KILOBYTE)
        steps = [
            'Use load_strategy: "summary" in the workflow config',
            f"`holdfast config set artifact.limit {kilobytes}`",
        ]
        if report.kind not in PATHS:  # how much it would print is not known
            steps = ["`holdfast config set artifact.limit KILOBYTES`"]
        return WorkflowError("Required artifact is too large", facts, steps)
    message = "Required artifact not found" if error.missing else "Required artifact cannot be loaded"
    return WorkflowError(
        message,
        [("Artifact", report.id), (_place(report), where), ("Error", error.why)],
        [
            *([error.hint] if error.hint else []),
            "Check if path is correct in workflow config",
            "Check if artifact was created in earlier phase",
            "Run the phase that creates this artifact",
        ],
    )
