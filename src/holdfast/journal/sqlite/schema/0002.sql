-- Checkpoints: the exact worktree at a point of the journal. The event that made one is in its worktree's ledger.

CREATE TABLE checkpoint (
    key      INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    worktree TEXT NOT NULL,
    number   INTEGER NOT NULL,
    run      TEXT,
    time     INTEGER NOT NULL,
    named    INTEGER NOT NULL,
    pinned   INTEGER NOT NULL,
    record   BLOB NOT NULL,
    UNIQUE (worktree, number)
) STRICT;
CREATE INDEX checkpoint_of_worktree ON checkpoint (worktree, key DESC);
CREATE INDEX checkpoint_of_run ON checkpoint (run, key DESC) WHERE run IS NOT NULL;
