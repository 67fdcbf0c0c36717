-- The tables of schema version 2, which this file keeps as they were.
CREATE TABLE subscriber (
    supi    TEXT COLLATE "C" PRIMARY KEY,
    gpsi    TEXT UNIQUE,
    sqn     BIGINT NOT NULL,
    profile TEXT NOT NULL
);
CREATE TABLE context (
    supi  TEXT COLLATE "C" NOT NULL,
    kind  TEXT COLLATE "C" NOT NULL,
    key   TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (supi, kind, key)
);
CREATE TABLE change (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    supi   TEXT NOT NULL
);
CREATE TABLE state (
    owner TEXT COLLATE "C" NOT NULL,
    id    TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE TABLE member (
    owner TEXT COLLATE "C" PRIMARY KEY,
    epoch BIGINT NOT NULL,
    until BIGINT NOT NULL
);
CREATE TABLE taken (
    owner TEXT COLLATE "C" NOT NULL,
    id    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, id)
);
