-- A checksum for each event, so that a byte that flips in one is found although nothing folded changes. The function
-- event_sum is the program's own; docs/format.md says what it adds up.
ALTER TABLE event ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE event SET sum = event_sum(run, seq, id, kind, time, session, agent, body);

-- What a program must know before it reads the rest: `needs` is the Holdfast that this format came with.
CREATE TABLE about (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Of large values that are stored as the difference to another one: which other one.
CREATE INDEX blob_by_base ON blob (substr(data, 3, 16)) WHERE substr(data, 1, 1) = x'64';

-- The event up to which what the run's tools gave was thinned out.
ALTER TABLE run ADD COLUMN thinned INTEGER NOT NULL DEFAULT 0;
