-- +goose Up
-- Keys are compared by their bytes, as Go and SQLite do.
CREATE TABLE meta (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value TEXT NOT NULL
);

-- One chat, thread, or user in a group. Queued means seq > done_seq and not
-- taken; ready_at is since when there is work that nobody waits for. Rows are
-- written several times a turn: free space in each page keeps that local.
CREATE TABLE lane (
  key          TEXT COLLATE "C" PRIMARY KEY,
  channel      TEXT    NOT NULL,
  chat_key     TEXT COLLATE "C" NOT NULL,
  in_seq       BIGINT  NOT NULL,
  done_seq     BIGINT  NOT NULL,
  ready_at     BIGINT,
  turn         TEXT    NOT NULL,
  parked       BOOLEAN NOT NULL,
  head_attempt BIGINT  NOT NULL,
  fence        BIGINT  NOT NULL,
  turns        BIGINT  NOT NULL,
  lang         TEXT    NOT NULL,
  noticed      BOOLEAN NOT NULL,
  error        TEXT    NOT NULL DEFAULT '',
  owner        TEXT    NOT NULL DEFAULT '', -- the process that works on it
  lease_until  BIGINT  NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE INDEX lane_ready ON lane (ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lane_owner ON lane (owner) WHERE owner <> '';
CREATE INDEX lane_chat ON lane (chat_key);

CREATE TABLE dedupe (
  key     TEXT COLLATE "C" PRIMARY KEY,
  seen_at BIGINT NOT NULL
);

CREATE TABLE inbox (
  lane        TEXT COLLATE "C" NOT NULL,
  seq         BIGINT NOT NULL,
  payload     BYTEA,
  received_at BIGINT NOT NULL,
  taken_by    TEXT   NOT NULL,
  PRIMARY KEY (lane, seq)
);

-- A chat's counters: of what is said to it, and of its log.
CREATE TABLE chat (
  key      TEXT COLLATE "C" PRIMARY KEY,
  channel  TEXT   NOT NULL,
  out_seq  BIGINT NOT NULL,
  sent_seq BIGINT NOT NULL,
  log_n    BIGINT NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE INDEX chat_open ON chat (key) WHERE sent_seq < out_seq;

CREATE TABLE log (
  chat    TEXT COLLATE "C" NOT NULL,
  n       BIGINT NOT NULL,
  id      TEXT   NOT NULL,
  author  TEXT   NOT NULL,
  text    TEXT   NOT NULL,
  buttons BYTEA,
  edit_of TEXT   NOT NULL,
  at      BIGINT NOT NULL,
  PRIMARY KEY (chat, n)
);

CREATE TABLE outbox (
  chat        TEXT COLLATE "C" NOT NULL,
  seq         BIGINT NOT NULL,
  kind        TEXT   NOT NULL,
  payload     BYTEA,
  edit_of     BIGINT NOT NULL,
  wait        TEXT COLLATE "C" NOT NULL,
  state       TEXT   NOT NULL,
  attempts    BIGINT NOT NULL,
  maybe       BIGINT NOT NULL, -- attempts that may have been delivered
  next_at     BIGINT NOT NULL,
  platform_id TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  error       TEXT   NOT NULL,
  PRIMARY KEY (chat, seq)
);

CREATE TABLE turn (
  id         TEXT COLLATE "C" PRIMARY KEY,
  lane       TEXT COLLATE "C" NOT NULL,
  seq_from   BIGINT NOT NULL,
  seq_to     BIGINT NOT NULL,
  state      TEXT   NOT NULL,
  version    BIGINT NOT NULL,
  journal    BYTEA,
  user_lines BYTEA,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  error      TEXT   NOT NULL
);
CREATE INDEX turn_lane ON turn (lane);

CREATE TABLE call (
  id         TEXT COLLATE "C" PRIMARY KEY,
  turn       TEXT COLLATE "C" NOT NULL,
  tool       TEXT   NOT NULL,
  args       BYTEA,
  effect     TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  fence      BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at   BIGINT NOT NULL,
  result     BYTEA
);
CREATE INDEX call_turn ON call (turn);
CREATE INDEX call_open ON call (turn) WHERE state IN ('proposed', 'started');

CREATE TABLE wait (
  token        TEXT COLLATE "C" PRIMARY KEY,
  lane         TEXT COLLATE "C" NOT NULL,
  chat_key     TEXT COLLATE "C" NOT NULL,
  turn         TEXT COLLATE "C" NOT NULL,
  state        TEXT   NOT NULL,
  spec         BYTEA  NOT NULL,
  first_seq    BIGINT NOT NULL,
  last_seq     BIGINT NOT NULL,
  delivered_at BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  message_id   TEXT   NOT NULL,
  answer       BYTEA,
  ended_at     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX wait_turn ON wait (turn);
CREATE INDEX wait_lane ON wait (lane);
CREATE INDEX wait_chat ON wait (chat_key) WHERE state = 'pending';
CREATE INDEX wait_due ON wait (expires_at) WHERE state = 'pending';

-- One row a turn: the lines of it that later turns are told.
CREATE TABLE history (
  lane  TEXT COLLATE "C" NOT NULL,
  n     BIGINT NOT NULL,
  lines BYTEA  NOT NULL,
  at    BIGINT NOT NULL,
  PRIMARY KEY (lane, n)
);

-- Runs of tools that the session remembers.
CREATE TABLE run (
  lane       TEXT COLLATE "C" NOT NULL,
  call       TEXT COLLATE "C" NOT NULL,
  spec       BYTEA  NOT NULL,
  ended_at   BIGINT NOT NULL,
  keep_until BIGINT NOT NULL,
  PRIMARY KEY (lane, call)
);

CREATE TABLE kv (
  scope   TEXT COLLATE "C" NOT NULL,
  key     TEXT COLLATE "C" NOT NULL,
  value   BYTEA,
  version BIGINT NOT NULL,
  PRIMARY KEY (scope, key)
);

-- Numbers are given before a commit, and so may become visible out of order. A
-- transaction that has one holds this lock with others until it ends: who takes
-- the lock alone knows that all numbers up to the last are visible, or never
-- will be.
CREATE SEQUENCE audit_id;
-- +goose StatementBegin
CREATE FUNCTION next_audit_id() RETURNS BIGINT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1885434476, 2);
  RETURN nextval('audit_id');
END
$$;
-- +goose StatementEnd
CREATE TABLE audit (
  id       BIGINT PRIMARY KEY DEFAULT next_audit_id(),
  at       BIGINT NOT NULL,
  chat_key TEXT COLLATE "C" NOT NULL,
  event    BYTEA  NOT NULL
);

CREATE TABLE cursor (
  name TEXT COLLATE "C" PRIMARY KEY,
  id   BIGINT NOT NULL
);

CREATE TABLE state (
  account TEXT COLLATE "C" NOT NULL,
  key     TEXT COLLATE "C" NOT NULL,
  value   BYTEA NOT NULL,
  PRIMARY KEY (account, key)
);

CREATE TABLE account_lease (
  account     TEXT COLLATE "C" NOT NULL,
  role        TEXT COLLATE "C" NOT NULL,
  owner       TEXT   NOT NULL,
  lease_until BIGINT NOT NULL,
  fence       BIGINT NOT NULL,
  PRIMARY KEY (account, role)
);

-- People who aren't in a channel's allow list: who knocked, and who was let in.
CREATE TABLE sender (
  channel    TEXT COLLATE "C" NOT NULL,
  "user"     TEXT COLLATE "C" NOT NULL,
  name       TEXT   NOT NULL,
  code       TEXT COLLATE "C" NOT NULL, -- '' once let in
  asked_at   BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, -- of the code
  let_in_at  BIGINT NOT NULL, -- 0: not yet
  PRIMARY KEY (channel, "user")
);
CREATE INDEX sender_code ON sender (code) WHERE code <> '';

-- The message that shows an answer while it is being written, until the turn
-- ends: a turn that is cut short and runs again goes on with it.
CREATE TABLE draft (
  lane TEXT COLLATE "C" PRIMARY KEY,
  seq  BIGINT NOT NULL, -- of the inbox: the message that is answered
  chat TEXT COLLATE "C" NOT NULL,
  out  BIGINT NOT NULL  -- of the outbox
);

-- +goose Down
DROP TABLE draft, sender, account_lease, state, cursor, audit, kv, run, history, wait, call, turn, outbox, log, chat, inbox, dedupe, lane, meta;
DROP FUNCTION next_audit_id;
DROP SEQUENCE audit_id;
