-- Events that wait, in the order of `seq`. `key_hash` is there where order is to be kept; `due_ms` only where an event
-- waits for a time of its own. Times are milliseconds by this server's clock.
CREATE TABLE {prefix}outbox (
  -- AUTOINCREMENT: a number is never used again, also after the last row was removed.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  lane INTEGER NOT NULL,
  message_key TEXT,
  key_hash BLOB,
  envelope TEXT NOT NULL,
  payload BLOB NOT NULL,
  due_ms INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  crashes INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  added_ms INTEGER NOT NULL
);

-- Whether something of a key stands before an event.
CREATE INDEX {bare}outbox_key ON {prefix}outbox (key_hash, seq) WHERE key_hash IS NOT NULL;

-- For a person who asks what became of an event.
CREATE INDEX {bare}outbox_id ON {prefix}outbox (id);

-- One row a relay at work: its lease, and what it holds. Whoever removes a lapsed one may take its lanes.
CREATE TABLE {prefix}outbox_relays (
  session TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  claimed TEXT NOT NULL,
  alone INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE {prefix}outbox_lanes (
  lane INTEGER PRIMARY KEY,
  session TEXT
);

CREATE TABLE {prefix}outbox_parked (
  key_hash BLOB PRIMARY KEY,
  topic TEXT NOT NULL,
  message_key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  reason TEXT NOT NULL,
  last_error TEXT,
  since_ms INTEGER NOT NULL,
  until_ms INTEGER
) WITHOUT ROWID;

CREATE TABLE {prefix}outbox_dead (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  lane INTEGER NOT NULL,
  message_key TEXT,
  key_hash BLOB,
  envelope TEXT NOT NULL,
  payload BLOB NOT NULL,
  attempts INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  reason TEXT NOT NULL,
  last_error TEXT,
  added_ms INTEGER NOT NULL,
  dead_ms INTEGER NOT NULL
);

CREATE INDEX {bare}outbox_dead_id ON {prefix}outbox_dead (id);

CREATE TABLE {prefix}outbox_sent (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  topic TEXT NOT NULL,
  message_key TEXT,
  added_ms INTEGER NOT NULL,
  sent_ms INTEGER NOT NULL
);

CREATE INDEX {bare}outbox_sent_ms ON {prefix}outbox_sent (sent_ms);
CREATE INDEX {bare}outbox_sent_id ON {prefix}outbox_sent (id);

CREATE TABLE {prefix}outbox_audit (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);

CREATE INDEX {bare}outbox_audit_seq ON {prefix}outbox_audit (seq);
CREATE INDEX {bare}outbox_audit_id ON {prefix}outbox_audit (id);
