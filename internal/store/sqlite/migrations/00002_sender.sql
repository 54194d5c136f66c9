-- +goose Up
-- People who aren't in a channel's allow list: who knocked, and who was let in.
CREATE TABLE sender (
  channel    TEXT    NOT NULL,
  user       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  code       TEXT    NOT NULL, -- '' once let in
  asked_at   INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- of the code
  let_in_at  INTEGER NOT NULL, -- 0: not yet
  PRIMARY KEY (channel, user)
) WITHOUT ROWID;
CREATE INDEX sender_code ON sender (code) WHERE code <> '';

-- +goose Down
DROP TABLE sender;
