"""What must not go missing without a test that fails: a row for each sync, lock, look at a path, at trust, at secrets.

A row says what is taken away: the file, a text that stands in it exactly once, and what stands there instead. Then come
the tests of which one must fail. They are few and quick, because a copy of the project runs them for every row.

Not here are syncs after which the same is synced once more before anything is acknowledged, such as that of a database
in `stores/replacing.py`, which SQLite has synced already: nothing could see them missing.
"""

from __future__ import annotations

from typing import NamedTuple

SYNC, LOCK, INSIDE, TRUST, SECRET = "sync", "lock", "containment", "trust", "redaction"


class Mutation(NamedTuple):
    kind: str
    name: str
    file: str  # below src/holdfast
    old: str
    new: str
    tests: tuple[str, ...]


def watched(*commands: str) -> tuple[str, ...]:
    test = "tests/crash/test_syncs.py::test_all_that_a_command_changed_is_synced_when_it_says_so"
    return tuple(f"{test}[{command}]" for command in commands)


def of(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{file}.py::test_{name}" for name in names)


KEPT = of("crash/test_syncs", "a_call_is_on_the_disk_when_the_hook_has_kept_it")
HELD = of("operations/test_holding", "a_verb_waits_for_who_holds_its_lock_and_names_him")

SYNCS = [
    ("a kept call", "spool.py", "posix.fsync(file)\n        posix.rename", "posix.rename", KEPT),
    ("the name of a kept call", "spool.py", "    posix.fsync(folder)\n", "", KEPT),
    ("a line about trouble", "spool.py", "+ b\"\\n\")\n        posix.fsync(file)", "+ b\"\\n\")",
     of("crash/test_syncs", "a_line_about_trouble_is_on_the_disk")),
    ("a file that is written", "files.py", "os.fchmod(file.fileno(), mode)\n            os.fsync(file.fileno())",
     "os.fchmod(file.fileno(), mode)", watched("set")),
    ("a directory", "files.py", "os.fsync(descriptor)", "pass", watched("set")),
    ("the name of a file that is written", "files.py", "os.rename(temporary, place)\n        sync_directory(place.parent)",
     "os.rename(temporary, place)", watched("install", "team")),
    ("a directory that is made", "files.py", "place.mkdir(mode, exist_ok=True)\n            sync_directory(place.parent)",
     "place.mkdir(mode, exist_ok=True)", watched("set")),
    ("a private directory", "files.py", "os.chmod(path, PRIVATE_DIRECTORY)\n        sync_directory(path.parent)",
     "os.chmod(path, PRIVATE_DIRECTORY)", watched("begin")),
    ("a directory for settings", "installing.py",
     "os.mkdir(directory)\n                files.sync_directory(Path(os.fsdecode(directory)).parent)",
     "os.mkdir(directory)", watched("install")),
    ("what is set aside", "intake.py", "        files.sync_directory(aside)\n", "", watched("set-aside")),
    ("a file that is put", "files.py", "if synced:\n                    os.fsync(file.fileno())",
     "if synced:\n                    pass", watched("checkpoint")),
    ("a file that is exchanged", "files.py", "        sync_directory(path.parent)\n        return None if found",
     "        return None if found", watched("orchestrate-again")),
    ("a file that is linked into place", "files.py", "    sync_directory(path.parent)\n    return None\n",
     "    return None\n", watched("install")),
    ("a removal", "files.py", "os.unlink(place)\n        sync_directory(place.parent)", "os.unlink(place)",
     of("crash/test_syncs", "a_removal_is_on_the_disk")),
    ("commits of the journal", "stores/connecting.py", "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF",
     watched("note")),
    ("the sums of pages", "stores/pages.py", "os.fsync(descriptor)", "pass", watched("restore-a-backup")),
    ("the sums of pages in the log", "stores/pages.py", "        os.fsync(file.fileno())\n\n", "\n",
     of("crash/test_syncs", "the_sums_of_pages_are_on_the_disk_before_the_log_is_emptied")),
    ("what says which log sums are of", "stores/pages.py",
     "os.fsync(file.fileno())  # first, or a power cut could leave sums of pages that nobody expects yet", "pass",
     of("crash/test_syncs", "the_sums_of_pages_are_on_the_disk_before_the_log_is_emptied")),
    ("our ref", "vault.py", "os.fsync(file.fileno())", "pass", watched("checkpoint")),
    ("the name of our ref", "vault.py", "        files.sync_directory(path.parent)\n", "", watched("checkpoint")),
    ("the names of a pack", "objects.py", "        files.sync_directory(stem.parent)\n", "", watched("checkpoint")),
    ("a restored file", "putting.py", "        if synced:\n            os.fsync(descriptor)\n", "", watched("restore")),
    ("the names of restored files", "putting.py", "        for directory in there:\n            _sync(directory)\n", "",
     watched("restore")),
    ("many restored files", "putting.py", "                _sync_file_system(directory)\n            return",
     "                pass\n            return", watched("restore-many")),
    ("a restored mode", "putting.py", "                _sync(place)\n", "                pass\n",
     watched("restore-a-mode")),
    ("an export", "parcel.py", "                os.fsync(descriptor)\n", "", watched("export")),
    ("the name of an export", "parcel.py", "                os.fsync(directory)\n", "", watched("export")),
    ("a backup", "archive.py", "                os.fsync(file.fileno())\n", "", watched("backup")),
    ("the name of a backup", "archive.py", "            files.sync_directory(target.parent)\n", "", watched("backup")),
    ("what comes out of a backup", "archive.py", "            os.fsync(out.fileno())\n", "            pass\n",
     watched("begin-from-a-backup")),
]  # fmt: skip

LOCKS = [
    ("every lock file", "files.py", "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass",
     of("world/test_lock", "whoever_waits_too_long_is_told_who_holds_the_lock")),
    ("the queue of writers", "stores/sqlite.py", 'return lock(self.path.with_name("lock"), self.deadline)',
     "return contextlib.nullcontext()", HELD),
    ("a transaction that writes", "stores/sqlite.py", 'execute("BEGIN IMMEDIATE")', 'execute("BEGIN")',
     of("contract/test_sqlite", "writer_holds_the_database_from_the_beginning_of_its_transaction")),
    ("a worktree's shadow", "checkpointing.py", 'with files.lock(shadow.directory / "lock", patience):', "if True:",
     HELD),
    ("a face", "faces.py", 'files.lock(path.with_name(path.name + ".lock"), lock_deadline, path.name, root)',
     "contextlib.nullcontext()", of("world/test_faces", "s22_whoever_holds_the_lock_is_waited_for_and_named")),
    ("the orchestrator's file", "projecting.py",
     'with files.lock(own_directory(workspace) / "session.lock", workspace.settings.number("store.deadline")):',
     "if True:",
     of("operations/test_holding", "the_orchestrators_file_is_left_alone_while_somebody_holds_its_lock")),
    ("a team's files", "teaming.py",
     'with files.lock(place / "team.lock", workspace.settings.number("store.deadline")):', "if True:", HELD),
    ("a repair", "mending.py", 'with files.lock(workspace.place / "repair.lock", patience, "repair the store"):',
     "if True:", HELD),
    ("the agent's settings", "installing.py", 'with files.lock(state / "installed" / "lock", PATIENCE):', "if True:",
     HELD),
    ("a backup that is written", "archive.py", "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass",
     of("operations/test_backup", "two_backups_to_one_place_do_not_mix")),
    ("who was taken over", "journal.py", "session.fenced or (session.is_open and session.epoch < run.epoch)", "False",
     of("operations/test_sessions", "nothing_of_a_session_that_was_taken_over_is_written_and_it_is_told")),
]  # fmt: skip

ARTIFACTS = of("world/test_sources", "what_is_not_a_file_of_the_project_is_not_read")
PLACES = [
    ("a path of the project", "inside.py", "parts[0] == os.pardir or any(", "any(", ARTIFACTS),
    ("what is git's or ours", "inside.py", "if parts[0] == os.pardir or any(part.lower() in FORBIDDEN for part in parts):",
     "if parts[0] == os.pardir:", ARTIFACTS),
    ("a regular file of the project", "inside.py", "if not stat.S_ISREG(status.st_mode):", "if False:", ARTIFACTS),
    ("a path of a checkpoint", "putting.py",
     'if b".." in parts or b"" in parts or b"." in parts or parts[0] in (b".git", b".holdfast"):', "if False:",
     of("world/test_putting", "a_path_that_is_not_inside_is_refused_and_nothing_changes")),
    ("a link on the way to a path", "inside.py", "os.open(name, PASSING, dir_fd=here)", "os.open(name, PASSING & ~os.O_NOFOLLOW, dir_fd=here)",
     of("world/test_putting", "no_link_leads_out_of_the_worktree")),
    ("a common directory", "spool.py", 'is_whole and directory.startswith(common + "/worktrees/")', "is_whole",
     of("hostile/test_git_directory", "what_leads_from_a_git_directory_to_another_changes_nothing_there")),
    ("a directory that becomes a link", "inside.py", "yield Path(os.fsdecode(name_of(descriptor, os.fsencode(path))))",
     "yield path", of("hostile/test_directories_raced", "nothing_is_written_or_read_through_a_directory_that_becomes_a_link")),
    ("how a file looks behind a link", "looking.py", "os.lstat(name, dir_fd=self._way.to(directory))",
     "os.lstat(self.full(path))",
     of("hostile/test_first_checkpoint_raced", "a_first_checkpoint_takes_nothing_in_through_a_directory_that_becomes_a_link")),
    ("what git reads for its index", "shadow.py", '"--info-only", ', "",
     of("hostile/test_first_checkpoint_raced", "what_git_reads_once_more_for_its_index_is_written_nowhere")),
    ("what comes into the place of an export", "parcel.py",
     "                _refuse_to_replace(place, path)  # somebody may have put something there while we wrote\n", "",
     of("hostile/test_parcels_raced", "what_was_put_there_while_an_export_is_written_is_not_replaced")),
    ("the store of a hook", "spool.py", "mode & 0o170000 == 0o040000 and not mode & 0o022 and status.st_uid == posix.geteuid()",
     "True", of("world/test_inbox", "nothing_is_written_into_a_store_that_others_can_write_to")),
    ("a store that is a link", "files.py", "    if not stat.S_ISDIR(status.st_mode):", "    if False:",
     of("world/test_private", "link_to_a_private_directory_is_refused")),
    ("a store of another user", "files.py", "if status.st_uid != os.geteuid():", "if False:",
     of("world/test_private", "directory_of_another_user_is_refused")),
    ("a store that others can write to", "files.py", "if status.st_mode & 0o022:", "if False:",
     of("world/test_private", "directory_that_others_can_write_to_is_refused")),
    ("a link that is read", "files.py", "os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK",
     "os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK", of("world/test_files", "what_is_no_ordinary_file_is_refused_at_once")),
    ("a pipe or device that is read", "files.py", "            if not stat.S_ISREG(status.st_mode):", "            if False:",
     of("world/test_files", "what_is_no_ordinary_file_is_refused_at_once")),
    ("a store that was not made here", "projects.py", "found is None or not _is_same(found, store)", "found is None",
     of("world/test_projects", "copy_is_refused_and_the_original_is_not")),
    ("a workflow behind a link", "workflows.py", "if not self.is_at_home(directory, path):", "if False:",
     of("world/test_workflows", "p6_a_link_out_of_the_workflows_is_not_followed")),
    ("a state behind a link", "layouts/faber.py", " and _is_inside(path, _runs_of(root, path), root)", "",
     of("world/test_faber_files", "p3_a_link_out_of_the_runs_directory_is_not_followed")),
    ("an active file behind a link", "layouts/faber.py", "files.read(path, ACTIVE_BYTES, root)", "files.read(path, ACTIVE_BYTES)",
     of("world/test_faber_files", "p1_an_active_file_outside_the_project_is_not_believed")),
    ("a session file behind a link", "projecting.py",
     "fresh: bool) -> None:\n    check_place(workspace)\n", "fresh: bool) -> None:\n",
     of("operations/test_orchestrator_file", "a_link_out_of_the_project_is_not_followed")),
    ("settings behind a link", "installing.py", 'if not real.startswith(border.rstrip("/") + "/"):', "if False:",
     of("operations/test_install", "link_out_of_the_project_is_refused")),
    ("a transcript that is not the client's", "operations/export.py", "    if not _is_below(path, home):\n",
     "    if False:\n", of("operations/test_export", "transcript_that_is_not_the_clients_own_is_not_read")),
    ("a git in the worktree", "git.py", "and not any(place.startswith(inside) for place in places) ", "",
     of("world/test_git", "a_git_that_lies_in_the_worktree_is_never_asked")),
    ("an id that becomes a file name", "ids.py", "    if AS_FILE_NAME.match(text):\n", "    if text:\n",
     of("rules/test_ids", "no_hostile_id_makes_a_file_outside_its_directory")),
]  # fmt: skip

REVOKED = of("operations/test_trust", "any_change_revokes_it")
GRANTS = [
    ("a command that nobody allowed", "trusting.py", "if found.state == TRUSTED:", "if True:",
     of("operations/test_trust", "nothing_runs_before_it_was_allowed_and_all_else_works")),
    ("a workflow that was changed", "trusting.py", "TRUSTED if grant.digest == found else CHANGED", "TRUSTED", REVOKED),
    ("a script that was changed", "trusting.py", "[root.encode(), real.encode(), data, *parts]",
     "[root.encode(), real.encode(), data]", REVOKED),
    ("a file that nobody has seen", "trusting.py", "if name not in [file.path for file in found.files]]", "if False]",
     of("operations/test_trust", "a_file_that_a_filled_word_names_must_have_been_seen_too")),
    ("what a state fills in", "invocation.py", "if name != OWN and not ids.is_safe(values[name]):", "if False:",
     of("operations/test_trust", "what_a_state_says_becomes_no_option_no_path_and_no_second_word")),
    ("a grant that others could write", "grants.py", " and not stat.S_IMODE(status.st_mode) & 0o077", "",
     of("operations/test_trust", "a_grant_that_others_could_have_written_or_read_is_worth_nothing")),
    ("a grant that the repository brings", "grants.py", "if is_ours and self._is_safe():", "if is_ours:",
     of("operations/test_trust", "grants_that_a_repository_brings_are_worth_nothing")),
    ("a grant of another place", "grants.py", "found is not None and (found.root, found.path) == (root, path)",
     "found is not None", of("operations/test_trust", "a_grant_that_was_copied_for_another_file_is_worth_nothing")),
    ("what changed while it was shown", "operations/trust.py", "if brought.digest == seen]", "]",
     of("operations/test_trust", "only_what_was_seen_is_allowed")),
    ("nobody at a terminal", "cli/trust.py", "if why := _nobody():", "if why := None:",
     of("surfaces/test_trust", "where_nobody_is_at_a_terminal_the_answer_is_never_yes")),
    ("a program of the project", "sources/command.py",
     "for place in good if not f\"{os.path.realpath(place)}{os.sep}\".startswith(inside_it))", "for place in good)",
     of("operations/test_trust", "a_program_of_the_project_is_not_found_by_what_runs_either")),
    ("an interpreter that settings name", "operations/doctor.py",
     'is_theirs = level.name != "user" and not is_trusted(workspace, level.path)', "is_theirs = False",
     of("operations/test_install_doctor",
        "interpreter_that_settings_of_the_worktree_name_is_tried_only_if_that_was_allowed")),
]  # fmt: skip

SECRETS = [
    ("what is stored", "journal.py",
     "body=self._without_secrets(draft.kind, cast(Body, sound(msgspec.to_builtins(draft.body)))),",
     "body=cast(Body, sound(msgspec.to_builtins(draft.body))),",
     of("operations/test_secrets", "after_a_whole_session_no_secret_is_in_the_store_or_in_anything_that_left_it")),
    ("what is imported", "journal.py",
     "event = structs.replace(event, body=self._without_secrets(event.kind, event.body))",
     "pass",
     of("operations/test_secrets", "a_raw_file_that_is_imported_is_hidden_on_the_way_in")),
    ("what hooks kept", "taking.py",
     "call.payload = _without_secrets(workspace, call.payload)",
     "pass",
     of("operations/test_secrets", "a_secret_that_is_cut_off_leaves_no_half_of_it")),
    ("a conversation that is imported", "importing.py",
     "retelling.tell(self.workspace.clean(line))",
     "retelling.tell(line)",
     of("operations/test_secrets", "a_conversation_that_is_imported_is_hidden_on_the_way_in")),
    ("the goal of a conversation that is imported", "importing.py",
     "goal_in(workspace.hide(line))",
     "goal_in(line)",
     of("operations/test_secrets", "a_conversation_that_is_imported_is_hidden_on_the_way_in")),
    ("transcripts that come with a run", "operations/import_run.py",
     "transcript.changed(line, workspace.hide)",
     "transcript.changed(line, lambda v: v)",
     of("operations/test_export", "transcripts_go_along_where_they_are_asked_for")),
    ("what is exported", "operations/export.py",
     "clean, counts = self.redactor.clean(value)",
     "clean, counts = value, Counter()",
     of("operations/test_secrets", "what_an_older_version_stored_is_not_handed_out")),
    ("the brief", "briefing.py",
     "return plan_brief(\n        without_secrets(workspace, run),",
     "return plan_brief(\n        run,",
     of("operations/test_secrets", "what_an_older_version_stored_is_not_handed_out")),
    ("artifacts in a brief", "briefing.py",
     "text=workspace.hide(found.text)",
     "text=found.text",
     of("operations/test_secrets", "artifacts_in_a_brief_are_without_secrets")),
    ("what a hook says shortly", "answering.py",
     "        without_secrets(workspace, run), told,",
     "        run, told,",
     of("operations/test_secrets", "what_an_older_version_stored_is_not_handed_out")),
    ("runs that could be joined", "answering.py",
     "_other(journal, without_secrets(workspace, run))",
     "_other(journal, run)",
     of("operations/test_secrets", "what_an_older_version_stored_is_not_handed_out")),
    ("artifacts that are loaded", "fetching.py",
     "loaded.text = self.workspace.hide(loaded.text)",
     "pass",
     of("operations/test_secrets", "artifacts_that_a_session_loads_are_without_secrets")),
    ("the session file that is compared", "projecting.py",
     "theirs = read_state(workspace.hide(face.value))",
     "theirs = read_state(face.value)",
     of("operations/test_secrets", "an_edit_of_the_session_file_is_followed_though_it_holds_secrets")),
    ("the session file that was written", "projecting.py",
     "ours = read_state(workspace.hide(memory.value))",
     "ours = read_state(memory.value)",
     of("operations/test_secrets", "an_edit_of_the_session_file_is_followed_though_it_holds_secrets")),
    ("a secret of the session file", "projecting.py",
     "put_raw(ours, before, workspace.hide)",
     "ours",
     of("operations/test_secrets", "a_session_file_keeps_its_secrets_through_our_changes_and_is_at_rest_then")),
    ("a secret of the Go Team", "teamfaces.py",
     "as_bytes(put_raw(whole, theirs, self.workspace.hide))",
     "as_bytes(whole)",
     of("operations/test_secrets", "files_of_the_go_team_keep_their_secrets_through_our_changes_and_are_at_rest_then")),
    ("a secret of the registry", "teamfaces.py",
     "as_bytes(put_raw(whole, value, self.workspace.hide))",
     "as_bytes(whole)",
     of("operations/test_secrets", "files_of_the_go_team_keep_their_secrets_through_our_changes_and_are_at_rest_then")),
    ("Go Team files that are compared", "teamfaces.py",
     "return cast(Body, self.workspace.hide(face.value))",
     "return cast(Body, face.value)",
     of("operations/test_secrets", "files_of_the_go_team_keep_their_secrets_through_our_changes_and_are_at_rest_then")),
    ("Go Team files that are taken in", "teamtaking.py",
     "    value = shelf.workspace.hide(value)\n",
     "",
     of("operations/test_secrets", "files_of_the_go_team_keep_their_secrets_through_our_changes_and_are_at_rest_then")),
    ("the state of FABER", "adopting.py",
     "faber.tell(workspace.hide(face.value), run_id)",
     "faber.tell(face.value, run_id)",
     of("operations/test_secrets", "a_state_of_fabers_keeps_its_secret_and_the_store_has_it_in_copies_of_the_file_alone")),
    ("a store that is made anew", "rebuilding.py",
     "Journal(view, self._workspace.clock, self._workspace.clean)",
     "Journal(view, self._workspace.clock, lambda body: body)",
     of("operations/test_secrets", "a_store_that_repair_makes_anew_holds_no_secret_of_an_older_version")),
    ("the word that something was hidden", "verbs.py",
     "            _tell_hidden(workspace)\n",
     "",
     of("operations/test_secrets", "whoever_says_a_secret_is_told_that_it_was_hidden_and_how_to_allow_it")),
]  # fmt: skip

MUTATIONS = [
    Mutation(kind, *row)
    for kind, rows in ((SYNC, SYNCS), (LOCK, LOCKS), (INSIDE, PLACES), (TRUST, GRANTS), (SECRET, SECRETS))
    for row in rows
]
