-- The tables of schema version 3, which this file keeps as they were.
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
CREATE TABLE change (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    supi   TEXT NOT NULL
) STRICT;
CREATE TABLE state (
    owner TEXT NOT NULL,
    id    TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;
CREATE TABLE member (
    owner TEXT PRIMARY KEY NOT NULL,
    -- Number of the process among those with this name.
    epoch INTEGER NOT NULL,
    -- End of its lease, in milliseconds since 1970.
    until INTEGER NOT NULL
) STRICT;
CREATE TABLE taken (
    owner TEXT NOT NULL,
    id    TEXT NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
