-- +goose Up
-- The message that shows an answer while it is being written, until the turn
-- ends: a turn that is cut short and runs again goes on with it.
CREATE TABLE draft (
  lane TEXT    PRIMARY KEY,
  seq  INTEGER NOT NULL, -- of the inbox: the message that is answered
  chat TEXT    NOT NULL,
  out  INTEGER NOT NULL  -- of the outbox
) WITHOUT ROWID;

-- +goose Down
DROP TABLE draft;
