-- The journal. Times are microseconds since 1970-01-01 UTC; docs/format.md explains every column.

CREATE TABLE run (
    key      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    status   TEXT NOT NULL,
    layout   TEXT NOT NULL,
    worktree TEXT NOT NULL,
    created  INTEGER NOT NULL,
    updated  INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    fold     INTEGER NOT NULL,
    state    BLOB NOT NULL
) STRICT;
CREATE INDEX run_newest ON run (updated DESC, key DESC);
CREATE INDEX run_by_status ON run (status, updated DESC, key DESC);
CREATE INDEX run_by_worktree ON run (worktree, status);

CREATE TABLE label (
    label TEXT NOT NULL,
    run   INTEGER NOT NULL REFERENCES run (key),
    PRIMARY KEY (label, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_of_run ON label (run);

CREATE TABLE event (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    run      INTEGER NOT NULL REFERENCES run (key),
    seq      INTEGER NOT NULL,
    id       BLOB NOT NULL UNIQUE,
    kind     TEXT NOT NULL,
    time     INTEGER NOT NULL,
    session  TEXT,
    agent    TEXT,
    body     BLOB NOT NULL,
    UNIQUE (run, seq)
) STRICT;

CREATE TABLE snapshot (
    run   INTEGER NOT NULL REFERENCES run (key),
    seq   INTEGER NOT NULL,
    fold  INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    digest BLOB PRIMARY KEY,
    data   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_use (
    run    INTEGER NOT NULL REFERENCES run (key),
    digest BLOB NOT NULL REFERENCES blob (digest),
    PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_used ON blob_use (digest);

CREATE TABLE session (
    id            TEXT PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES run (key),
    opened        INTEGER NOT NULL,
    is_open       INTEGER NOT NULL,
    has_process   INTEGER NOT NULL,
    agent_session TEXT,
    record        BLOB NOT NULL
) STRICT;
CREATE INDEX session_of_run ON session (run, opened);
CREATE INDEX session_open ON session (has_process) WHERE is_open = 1;
CREATE INDEX session_of_agent ON session (agent_session) WHERE agent_session IS NOT NULL;

-- The run that a worktree's commands mean when they name none.
CREATE TABLE pointer (
    worktree TEXT PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES run (key)
) STRICT, WITHOUT ROWID;

-- One document per event that people would look for; its rowid is the event's position.
CREATE VIRTUAL TABLE search USING fts5 (
    words, content = '', contentless_delete = 1, prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2'
);
