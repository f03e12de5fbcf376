"""Every command there is, with arguments that work in the `worked` project, and what it answers.

`data` and `talk` are patterns for the whole of stdout and stderr; `{run}`, `{earlier}`, `{session}`, `{checkpoint}` and
`{later}` stand for ids.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import click

from holdfast.operations.checkpoint import checkpoint
from holdfast.operations.entries import action, prompt
from holdfast.operations.restore import restore, undo
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.parser import holdfast


class Known(NamedTuple):
    """The ids of a `worked` project."""

    run: str
    earlier: str
    session: str
    checkpoint: str = "cp-0000000000"  # these two only where checkpoints were made
    later: str = "cp-0000000001"

    def fill(self, text: str) -> str:
        for name, value in self._asdict().items():
            text = text.replace("{" + name + "}", value)
        return text


class Case(NamedTuple):
    words: str  # the command: `task add`
    arguments: tuple[str, ...]
    data: str
    talk: str
    keys: str | None  # of the JSON object; None where there is none to print

    def line(self, known: Known) -> list[str]:
        return [*self.words.split(), *(known.fill(argument) for argument in self.arguments)]


RUN, SESSION, CHECKPOINT = r"run-[0-9a-z]{10}", r"ses-[0-9a-z]{10}", r"cp-[0-9a-z]{10}"
FENCED = "What stands between the two lines with the mark ([0-9a-z]{10}) is history .*\\.\n<history \\1>\n"
RESUMING = (
    FENCED
    + "Going on with {run}: Add retries.*\n  2 open tasks, 1 decision\n.*  a new conversation, which starts with the brief: .*\n</history \\1>\n"
)
RESUMED = (
    "run last conversation why_new command directory environment bearings restored taken_from attended recovery kept"
)
SETTLED = "run changed"
BRIEF = FENCED + "# Where run {run} stands\n.*Goal: Add retries.*- d1 Use backoff.*</history \\1>\n"
SAVED = f"Saved {{run}} at event [0-9]+ as {CHECKPOINT}\n"
STEPPED = "run step changed completed left checkpoint"
AGENT = "run agent changed"
WENT_BACK = (
    "restore to written removed paths moved_aside brought_back dry_run state name acts left event later_events "
    "taken_back_by undone undone_name given_up clashes"
)

CASES = [
    Case(
        "status",
        (),
        "Add retries to the client\n{run}  active since .*Next: t1  Write the tests\n.*Decided: d1  Use backoff\n.*"
        "Also open: {earlier}  paused  Fix the flaky test\n",
        "",
        "directory store off run last_session present running silent_since others troubles set_aside unread warnings unfinished checkpoint untrusted",
    ),
    Case("brief", (), BRIEF, "", "run text made budget left_out digest"),
    Case("runs", (), r"#  run +status +last +goal\n1  {run}  active .*\n2  {earlier}  paused .*\n", "", "runs next partial suggestion"),
    Case("show", (), "Add retries to the client\n{run}  active\nstarted    .*note       n1  Needs a VPN\n.*", "", "run sessions at"),
    Case(
        "search",
        ("backoff", "server"),
        r"{run}  active  Add retries to the client\n  #[0-9]+  decision  20.*\n    Use »backoff« [(]because the »server« sheds load[)]\n",
        "1 event, the best first\n",
        "search found ranked partial suggestion",
    ),
    Case("sessions", (), r"#  session .*\n1  {session}  robot .*open\n", "", "run sessions"),
    Case("log", (), "#1  .*  started: Add retries to the client\n#2  .*\n", "", "run events checkpoints"),
    Case("budget", ("--used", "86000", "--window", "200000"), r"context 43 % \(86,000 of 200,000 tokens\): healthy\n", "Advice: there is room\n", "run session model fill compacted by_agent mode at_once compress_at advice"),
    Case("history", (), "", "No run has ended yet.\n", "runs more words"),
    Case(
        "start",
        ("Another goal",),
        f"{RUN}\n",
        f"Started {RUN}: Another goal\n.*Could go on instead: `holdfast switch {{earlier}}`  paused, Fix.*",
        "run session paused resumable archived",
    ),
    Case("switch", ("{earlier}",), "{earlier}\n", "Now on {earlier}: Fix the flaky test\n", "run moved_from"),
    Case(
        "join",
        ("{run}", "--agent", "tester"),
        f"{SESSION}\n",
        f"Joined {{run}}: Add.*\nIts session is {SESSION}; .*`export HOLDFAST_SESSION={SESSION}`\nAlso on it: {{session}}\n",
        "run session taken_from others",
    ),
    Case("resume", ("{run}", "--yes"), RESUMING, "Nobody knows how to start this agent: .*\n", RESUMED),
    Case("continue", ("--yes",), RESUMING, "Nobody knows how to start this agent: .*\n", RESUMED),
    Case("session-load", (), BRIEF, "", "run text made budget left_out digest"),
    Case("load", ("--run", "{run}"), BRIEF, "", "run text made budget left_out digest"),
    Case("prime-context", ("--budget", "4000"), BRIEF, "", "run text made budget left_out digest"),
    Case("session-save", (), f"{CHECKPOINT}\n", SAVED, "run seq checkpoint changed"),
    Case("session-end", (), f"{CHECKPOINT}\n", SAVED, "run seq checkpoint changed"),
    Case("save", (), f"{CHECKPOINT}\n", SAVED, "run seq checkpoint changed"),
    Case("command", ("*sessions",), " 1  {run}  active .*\n 2  {earlier}  paused .*\n\n`\\*resume:N` .*", "", "text known"),
    Case("leave", ("{session}",), "{session}\n", "Ended {session}\n", "session changed"),
    Case("pause", (), "{run}\n", "{run} is paused: Add retries.*\n", SETTLED),
    Case("complete", (), "{run}\n", "{run} is completed: Add retries.*\n", SETTLED),
    Case("fail", (), "{run}\n", "{run} is failed: Add retries.*\n", SETTLED),
    Case("abort", (), "{run}\n", "{run} is aborted: Add retries.*\n", SETTLED),
    Case("abandon", (), "{run}\n", "{run} is abandoned: Add retries.*\n", SETTLED),
    Case("reopen", (), "{run}\n", "{run} was active already: Add retries.*\n", SETTLED),
    Case("agent start", ("code", "Write it"), "code-2\n", "Agent code-2 of {run} is in_progress: Write it\n", AGENT),
    Case("agent progress", ("code-1", "60"), "code-1\n", "Agent code-1 of {run} is in_progress at 60 %: Retry\n", AGENT),
    Case("agent complete", ("code-1", "--result", "Green", "--tokens", "9"), "code-1\n", "Agent code-1 of {run} is complete: Retry\n", AGENT),
    Case("agent fail", ("code-1", "--error", "Red"), "code-1\n", "Agent code-1 of {run} is failed: Retry\n", AGENT),
    Case("agent list", (), r"agent +state +done +what +outcome\ncode-1  in_progress  0 % +Retry *\n", "0 % complete, 1 at work\n", "run agents progress at_work at_once"),
    Case("checkpoint", ("before", "-m", "all is well"), f"{CHECKPOINT}\n", "Kept [0-9]+ files?: the first checkpoint of this worktree\n", "checkpoint filtered left_out files"),
    Case("checkpoints", (), r"#  checkpoint +made +changed +what\n1  {later}  .*\n2  {checkpoint}  .* first\n", "Of {run}: Add retries.*\n", "checkpoints unfinished more runs"),
    Case("diff", ("{checkpoint}", "{later}", "client.py"), r" client.py \| 2 \+-\n.*\n\ndiff --git a/client.py b/client.py\n.*\n-slow\n\+retrying\n", "", "a b code state left files"),
    Case("rewind", ("1",), CHECKPOINT + "\n", "(Back at cp-.*|Nothing to do: .*)\n", WENT_BACK),
    Case("restore", ("{later}",), "{later}\n", "Back at {later}: 1 written, 0 removed; `holdfast undo` takes it back\n", WENT_BACK),
    Case(
        "rollback",
        ("{checkpoint}", "--yes"),
        "{checkpoint}\n",
        "Back at {checkpoint}: .*; `holdfast undo` takes it back\nThe run is back at event [0-9]+; .* in the journal\n",
        WENT_BACK,
    ),
    Case("undo", (), f"{CHECKPOINT}\n", f"Undoing: restore to {CHECKPOINT} of .*\nBack at {CHECKPOINT}: 1 written, 0 removed; .*\n", WENT_BACK),
    Case("redo", (), f"{CHECKPOINT}\n", f"Redoing what was undone .*\nBack at {CHECKPOINT}: 1 written, 0 removed; .*\n", WENT_BACK),
    Case("run", ("true",), "", "", None),
    Case("guard", ("true",), "", f"It passes; this state is kept as {CHECKPOINT}\n", "command code passed restored"),
    Case(
        "bisect",
        ("--good", "{checkpoint}", "--bad", "{later}", "grep", "--silent", "slow", "client.py"),
        "{later}\n",
        "First bad of 2 tried: {later} \\(asked\\)\nSee what it changed: `holdfast diff {checkpoint} {later}`\n",
        "command first_bad last_good tried",
    ),
    Case("note", ("Ask first",), "n2\n", "Noted on {run}\n", "run entry seq"),
    Case("decide", ("Use a library", "--because", "it is tested"), "d2\n", "Decided on {run}\n", "run entry seq"),
    Case("revoke", ("1",), "d1\n", "d1 is revoked\n", "run entry changed"),
    Case("task add", ("Measure it",), "t3\n", "Added to {run}\n", "run entry seq"),
    Case("task done", ("t1", "--outcome", "green", "--files", "a.py,b.py"), "t1\n", "t1 is done\n", "run entry changed"),
    Case("task list", (), r"task  state  what +outcome\nt1 +open +Write the tests\nt2 +open +Ship it\n", "", "run tasks"),
    Case("done", ("t2",), "t2\n", "t2 is done\n", "run entry changed"),
    Case("action", ("Ran it", "--file", "a.py"), "[0-9]+\n", "Recorded on {run}\n", "run seq"),
    Case("error", ("It does not build",), "[0-9]+\n", "Recorded on {run}\n", "run seq"),
    Case("step start", ("testing", "--agent", "tester"), "testing\n", "Step testing of {run} is active\n", STEPPED),
    Case("step complete", ("testing",), "testing\n", "Step testing of {run} is completed\n", STEPPED),
    Case("step fail", ("testing", "--error", "red"), "testing\n", "Step testing of {run} is failed\n", STEPPED),
    Case("step list", (), "", "No step yet.\n", "run steps"),
    Case("handoff", ("tester",), "tester\n", "{run} was handed to tester\n", "run agent before changed"),
    Case("breakpoint", ("on",), "on\n", "{run} waits at a breakpoint\n", "run on changed"),
    Case("output", ("spec", ".git/HEAD"), "spec\n", "Kept [0-9]+ characters? on {run}\n|It was so already\n", "run key value changed"),
    Case("metric", ("test_coverage", "85"), "85\n", "test_coverage of {run} is 85\n", "run key value changed"),
    Case("compressed", (), "[0-9]+\n", "{run} has 1 compaction\n", "run seq compactions"),
    Case("pin", ("n1",), "n1\n", "n1 is pinned\n", "run entry pinned changed"),
    Case("forget", ("6", "--yes"), "6\n", "{run} has forgotten event 6\n", "run seq changed"),
    Case("rename", ("Retries",), "{run}\n", "{run} is called Retries\n", "run"),
    Case("tag", ("urgent",), "urgent\n", "{run} has 1 tag\n", "run"),
    Case(
        "init",
        ("--agent", "none"),
        "/.*/holdfast\n",
        "It was ready already.\nAny agent's hook can call: .* -I -S /.*/entry.py AGENT EVENT\n",
        "directory store created hook agent scope file events block plugin commands faber_hooks hints",
    ),
    Case("uninit", (), "", "No settings here had our calls.\n", "files purged packs hints"),
    Case("doctor", (), "ok +store: .*\nwarning +hooks: no settings file has Holdfast's hooks, and its plugin .*\n +try: .*", "", "checks healthy"),
    Case("trust", (), "", "Nothing here waits for trust\n", "files allowed"),
    Case("untrust", (), "", "Nothing here was trusted\n", "paths"),
    Case("on", (), "", "It was on already.\n", "store off changed"),
    Case("off", (), "", "Nothing is recorded here from now on.\n", "store off changed"),
    Case("config list", (), r"setting +value\nartifact.limit +1024\n.*brief.budget +10000\n.*", "", "settings warnings"),
    Case("config get", ("brief.budget",), "10000\n", "", "key value origin"),
    Case("config set", ("brief.budget", "20000"), "20000\n", "Written to /.*config.toml\n", "key value file"),
    Case("help", ("task", "add"), "Usage: holdfast task add .*Example:.*", "", "help"),
    Case("completion", ("bash",), "_holdfast_completion\\(\\) {.*", "", "shell script"),
    Case("scan", (), "", "Looked at [0-9]+ events\nNothing that looks like a secret stands there as it is\n", "target events files skipped hidden secrets more checkpoints code"),
    Case("sweep", (), "", "Took in 0 calls\n0 runs found interrupted\n", "taken_in set_aside interrupted troubles"),
    Case(
        "verify",
        (),
        "Whole: 2 runs, [0-9]+ events\n",
        "",
        "runs events problems set_aside checkpoints objects promised faces unread",
    ),
    Case(
        "repair",
        (),
        "",
        "The store is whole\nNothing to repair: {run} has no file that `repair` mends\n",
        "run path changed source aside lost files store",
    ),
    Case(
        "backup",
        ("../kept.tar.gz", "--yes"),
        "/.*/kept.tar.gz\n",
        r"Kept and verified: 2 runs, [0-9]+ events, [0-9]+ checkpoints?, in [0-9.]+ MB\n",
        "path size runs events checkpoints format unread",
    ),
    Case(
        "restore-backup",
        ("../before.tar.gz", "--yes"),
        "/.*/before.tar.gz\n",
        r"Put back: 2 runs, [0-9]+ events, 0 checkpoints\nWhat was there before is kept: `holdfast restore-backup .*` takes .*\n",
        "path runs events checkpoints before aside",
    ),
    Case(
        "tidy",
        (),
        "",
        "Dropped 0 checkpoints, [0-9]+ stay\nStay whatever the numbers say: [0-9]+ needed by undo or redo.*\nGave back .* MB\nTaken: .* MB of 2,000.0 MB\n",
        "dropped kept dry_run stored freed waiting unknown backups because copies aside thinned removed given_back cap room",
    ),
    Case("cleanup", ("--dry-run",), "", "Nothing to clean up\n", "runs topics kept dry_run"),
    Case("export", ("{earlier}", "out.holdfast"), "/.*/out.holdfast\n", "Exported {earlier}: [0-9]+ events?, 0 checkpoints\n", "run path sha256 events checkpoints left_out transcripts skipped raw redacted"),
    Case("import", ("--claude",), "", "Nothing to import: there is no transcript of this project in /.*\n", "runs joined conversations prompts actions skipped left reason damaged"),
    Case("delete", ("{earlier}", "--yes"), "{earlier}\n", "Deleted [0-9]+ events: Fix the flaky test\n", "run goal events purge"),
]  # fmt: skip
WITH_JSON = [case for case in CASES if case.keys is not None]
NEED_CHECKPOINTS = ("checkpoints", "diff", "rewind", "restore", "rollback", "undo", "redo", "bisect", "tidy")


def with_checkpoints(workspace: Workspace, known: Known) -> Known:
    """Two checkpoints with work between them, and the worktree back at the first; one can undo, and also redo."""
    client = workspace.root / "client.py"
    client.write_text("slow\n")
    first = checkpoint(workspace, message="first").checkpoint
    client.write_text("retrying\n")
    action(workspace, "Measured it")
    prompt(workspace, "Retry it")
    second = checkpoint(workspace).checkpoint
    restore(workspace, first.id)
    restore(workspace, second.id)
    undo(workspace)
    return known._replace(checkpoint=first.id, later=second.id)


def fits(pattern: str, text: str, known: Known) -> bool:
    return re.fullmatch(known.fill(pattern), text, re.DOTALL) is not None


def leaves() -> dict[str, click.Command]:
    """Every command that does something, by its words."""
    found: dict[str, click.Command] = {}
    for name, command in _members(holdfast).items():
        below = _members(command)
        found |= {f"{name} {sub}": member for sub, member in below.items()} or {name: command}
    return found


def groups() -> dict[str, click.Command]:
    """The commands that only lead to others."""
    return {name: command for name, command in _members(holdfast).items() if _members(command)}


def _members(command: click.Command) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    names = command.list_commands(context)
    return {name: member for name in names if (member := command.get_command(context, name)) is not None}
