"""Every verb of the command line: where it is defined, in which group of the help it stands, what it does in a line.

Only the module of the verb that is called gets loaded.
"""

from __future__ import annotations

from msgspec import Struct

DAILY = ("status", "resume", "brief", "decide", "task", "checkpoint")
GROUPS = {
    "see": "See where I am",
    "go": "Go on",
    "back": "Go back",
    "tell": "Tell it something",
    "setup": "Set up",
    "care": "Look after it",
}
SYNONYMS = {  # verbs of other programs
    "list": ("runs", "checkpoints", "sessions"),
    "ls": ("runs", "checkpoints", "sessions"),
    "cp": ("checkpoint", "checkpoints"),
    "new": ("start",),
    "finish": ("complete",),
    "revert": ("undo", "restore"),
    "rm": ("delete",),
    "remove": ("delete",),
}


class Verb(Struct, frozen=True):
    module: str
    group: str
    about: str


VERBS = {
    "status": Verb("status", "see", "where we are"),
    "brief": Verb("brief", "see", "what the next session would be told, exactly"),
    "runs": Verb("lists", "see", "runs of this project, newest first; search them"),
    "show": Verb("show", "see", "a run or a session, also as it was earlier"),
    "search": Verb("search", "see", "events by the words in them, the best first"),
    "sessions": Verb("lists", "see", "who worked on a run, and how it ended"),
    "log": Verb("lists", "see", "the events of a run; follow them with -f"),
    "budget": Verb("context", "see", "how full the agent's context is, and what to do"),
    "history": Verb("lists", "see", "runs that have ended, newest first"),
    "start": Verb("start", "go", "begin a run"),
    "switch": Verb("start", "go", "choose the run that commands here mean"),
    "join": Verb("start", "go", "open a session on a run, or take it over"),
    "leave": Verb("start", "go", "end a session"),
    "resume": Verb("resume", "go", "go on with a run, and with its conversation"),
    "continue": Verb("resume", "go", "go on with a run (the same as `resume`)"),
    "session-load": Verb("session", "go", "what a session needs to go on"),
    "load": Verb("session", "go", "the same as `session-load`"),
    "prime-context": Verb("session", "go", "the same as `session-load`"),
    "session-save": Verb("session", "go", "keep what a session did"),
    "session-end": Verb("session", "go", "the same as `session-save`"),
    "save": Verb("session", "go", "save the open run: code and state"),
    "command": Verb("chat_command", "go", "carry out an observer command such as `*sessions`"),
    "pause": Verb("finish", "go", "put a run to rest; it stays open"),
    "complete": Verb("finish", "go", "a run has reached its goal"),
    "fail": Verb("finish", "go", "a run cannot reach its goal"),
    "abort": Verb("finish", "go", "stop a run on purpose"),
    "abandon": Verb("finish", "go", "give a run up"),
    "reopen": Verb("finish", "go", "take the end of a run back"),
    "checkpoint": Verb("checkpoints", "back", "keep the exact worktree and the run's state"),
    "checkpoints": Verb("checkpoints", "back", "checkpoints, newest first"),
    "diff": Verb("checkpoints", "back", "what differs between checkpoints, or since one"),
    "restore": Verb("checkpoints", "back", "make the worktree equal to a checkpoint"),
    "rollback": Verb("checkpoints", "back", "go back in code and in what the run knew"),
    "undo": Verb("checkpoints", "back", "take the last restore back"),
    "redo": Verb("checkpoints", "back", "do again what was undone"),
    "run": Verb("run", "go", "supervise a command, saved from time to time"),
    "guard": Verb("checkpoints", "back", "run a command; where it fails, the way back"),
    "bisect": Verb("checkpoints", "back", "find the first checkpoint at which a command fails"),
    "note": Verb("notes", "tell", "write something down"),
    "decide": Verb("notes", "tell", "record a decision and its reason"),
    "revoke": Verb("notes", "tell", "take a decision back"),
    "task": Verb("notes", "tell", "add a task, finish one, list them"),
    "done": Verb("notes", "tell", "finish a task (the same as `task done`)"),
    "action": Verb("notes", "tell", "record something that was done"),
    "error": Verb("step", "tell", "record an error that was met"),
    "agent": Verb("agent", "tell", "agents a run sent out: start, progress, complete, fail, list"),
    "step": Verb("step", "tell", "steps of a run: start, complete, fail, list"),
    "handoff": Verb("team", "tell", "hand a run on to another agent"),
    "breakpoint": Verb("team", "tell", "a run waits for an answer, or goes on"),
    "output": Verb("team", "tell", "keep what a step has given"),
    "metric": Verb("team", "tell", "keep a measure of a run"),
    "compressed": Verb("context", "tell", "record that the agent's context was compacted"),
    "pin": Verb("notes", "tell", "let every brief carry an entry"),
    "forget": Verb("notes", "tell", "make a run forget one event"),
    "rename": Verb("notes", "tell", "give a run a name"),
    "tag": Verb("notes", "tell", "add tags to a run, or take them off"),
    "init": Verb("setup", "setup", "prepare this project"),
    "uninit": Verb("setup", "setup", "give the agent's settings back as they were"),
    "doctor": Verb("setup", "setup", "look whether hooks are active, and what to do"),
    "trust": Verb("trust", "setup", "see what a project brings that could run, and allow it"),
    "untrust": Verb("trust", "setup", "allow it no more"),
    "on": Verb("setup", "setup", "record in this project again"),
    "off": Verb("setup", "setup", "record nothing in this project"),
    "config": Verb("setup", "setup", "look at settings and change them"),
    "completion": Verb("setup", "setup", "print the completion script of a shell"),
    "sweep": Verb("maintenance", "care", "take in what hooks kept, and notice who died"),
    "verify": Verb("maintenance", "care", "prove that the store is whole"),
    "scan": Verb("scan", "care", "secrets: what is hidden, and what would be"),
    "repair": Verb("maintenance", "care", "mend the store, and damaged files of a run"),
    "backup": Verb("backup", "care", "keep the whole store in one file"),
    "restore-backup": Verb("backup", "care", "put the store back from a backup"),
    "tidy": Verb("maintenance", "care", "thin out what is old, and give space back"),
    "cleanup": Verb("team", "care", "take the files of old Go Team runs away"),
    "export": Verb("transfer", "care", "put a run into one file that can be carried away"),
    "import": Verb("transfer", "care", "take in an exported run, or old conversations"),
    "delete": Verb("delete", "care", "remove a run for good"),
}
