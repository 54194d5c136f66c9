-- +goose Up
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- One chat, thread, or user in a group. Queued means seq > done_seq and not
-- taken; ready_at is since when there is work that nobody waits for.
CREATE TABLE lane (
  key          TEXT PRIMARY KEY,
  channel      TEXT    NOT NULL,
  chat_key     TEXT    NOT NULL,
  in_seq       INTEGER NOT NULL,
  done_seq     INTEGER NOT NULL,
  ready_at     INTEGER,
  turn         TEXT    NOT NULL,
  parked       INTEGER NOT NULL,
  head_attempt INTEGER NOT NULL,
  fence        INTEGER NOT NULL,
  turns        INTEGER NOT NULL,
  lang         TEXT    NOT NULL,
  noticed      INTEGER NOT NULL,
  error        TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX lane_ready ON lane (ready_at) WHERE ready_at IS NOT NULL;

CREATE TABLE dedupe (
  key     TEXT PRIMARY KEY,
  seen_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE inbox (
  lane        TEXT    NOT NULL,
  seq         INTEGER NOT NULL,
  payload     BLOB,
  received_at INTEGER NOT NULL,
  taken_by    TEXT    NOT NULL,
  PRIMARY KEY (lane, seq)
) WITHOUT ROWID;

-- A chat's counters: of what is said to it, and of its log.
CREATE TABLE chat (
  key      TEXT PRIMARY KEY,
  channel  TEXT    NOT NULL,
  out_seq  INTEGER NOT NULL,
  sent_seq INTEGER NOT NULL,
  log_n    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX chat_open ON chat (key) WHERE sent_seq < out_seq;

CREATE TABLE log (
  chat    TEXT    NOT NULL,
  n       INTEGER NOT NULL,
  id      TEXT    NOT NULL,
  author  TEXT    NOT NULL,
  text    TEXT    NOT NULL,
  buttons BLOB,
  edit_of TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (chat, n)
) WITHOUT ROWID;

CREATE TABLE outbox (
  chat        TEXT    NOT NULL,
  seq         INTEGER NOT NULL,
  kind        TEXT    NOT NULL,
  payload     BLOB,
  edit_of     INTEGER NOT NULL,
  wait        TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  attempts    INTEGER NOT NULL,
  maybe       INTEGER NOT NULL, -- attempts that may have been delivered
  next_at     INTEGER NOT NULL,
  platform_id TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  error       TEXT    NOT NULL,
  PRIMARY KEY (chat, seq)
) WITHOUT ROWID;

CREATE TABLE turn (
  id         TEXT PRIMARY KEY,
  lane       TEXT    NOT NULL,
  seq_from   INTEGER NOT NULL,
  seq_to     INTEGER NOT NULL,
  state      TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  journal    BLOB,
  user_lines BLOB,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  error      TEXT    NOT NULL
) WITHOUT ROWID;

CREATE TABLE call (
  id         TEXT PRIMARY KEY,
  turn       TEXT    NOT NULL,
  tool       TEXT    NOT NULL,
  args       BLOB,
  effect     TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  fence      INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  result     BLOB
) WITHOUT ROWID;
CREATE INDEX call_open ON call (turn) WHERE state IN ('proposed', 'started');

CREATE TABLE wait (
  token        TEXT PRIMARY KEY,
  lane         TEXT    NOT NULL,
  chat_key     TEXT    NOT NULL,
  turn         TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  spec         BLOB    NOT NULL,
  first_seq    INTEGER NOT NULL,
  last_seq     INTEGER NOT NULL,
  delivered_at INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  message_id   TEXT    NOT NULL,
  answer       BLOB,
  ended_at     INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX wait_turn ON wait (turn);
CREATE INDEX wait_chat ON wait (chat_key) WHERE state = 'pending';
CREATE INDEX wait_due ON wait (expires_at) WHERE state = 'pending';

-- One row a turn: the lines of it that later turns are told.
CREATE TABLE history (
  lane  TEXT    NOT NULL,
  n     INTEGER NOT NULL,
  lines BLOB    NOT NULL,
  at    INTEGER NOT NULL,
  PRIMARY KEY (lane, n)
) WITHOUT ROWID;

-- Runs of tools that the session remembers.
CREATE TABLE run (
  lane       TEXT    NOT NULL,
  call       TEXT    NOT NULL,
  spec       BLOB    NOT NULL,
  ended_at   INTEGER NOT NULL,
  keep_until INTEGER NOT NULL,
  PRIMARY KEY (lane, call)
) WITHOUT ROWID;

CREATE TABLE kv (
  scope   TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  value   BLOB,
  version INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;

CREATE TABLE audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  chat_key TEXT    NOT NULL,
  event    BLOB    NOT NULL
);

CREATE TABLE cursor (
  name TEXT PRIMARY KEY,
  id   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE state (
  account TEXT NOT NULL,
  key     TEXT NOT NULL,
  value   BLOB NOT NULL,
  PRIMARY KEY (account, key)
) WITHOUT ROWID;

CREATE TABLE account_lease (
  account     TEXT    NOT NULL,
  role        TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  lease_until INTEGER NOT NULL,
  fence       INTEGER NOT NULL,
  PRIMARY KEY (account, role)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE account_lease;
DROP TABLE state;
DROP TABLE cursor;
DROP TABLE audit;
DROP TABLE kv;
DROP TABLE run;
DROP TABLE history;
DROP TABLE wait;
DROP TABLE call;
DROP TABLE turn;
DROP TABLE outbox;
DROP TABLE log;
DROP TABLE chat;
DROP TABLE inbox;
DROP TABLE dedupe;
DROP TABLE lane;
DROP TABLE meta;
