-- What step 2 adds to the tables of schema version 2, which this file keeps as it was.
CREATE TABLE change_order (
    id   INTEGER PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO change_order (id, last) VALUES (1, 0);
