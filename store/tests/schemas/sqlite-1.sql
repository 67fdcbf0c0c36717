-- The tables of schema version 1, which this file keeps as they were.
CREATE TABLE subscriber (
    supi    TEXT PRIMARY KEY NOT NULL,
    gpsi    TEXT UNIQUE,
    -- Last sequence number used; a column of its own, since each authentication writes it.
    sqn     INTEGER NOT NULL,
    profile TEXT NOT NULL
) STRICT;
CREATE TABLE context (
    supi  TEXT NOT NULL,
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (supi, kind, key)
) STRICT, WITHOUT ROWID;
