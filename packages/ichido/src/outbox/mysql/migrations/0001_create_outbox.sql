-- Events that wait, in the order of `seq`. `key_hash` is there where order is to be kept; `due_ms` only where an event
-- waits for a time of its own. Times are milliseconds by this server's clock.
CREATE TABLE IF NOT EXISTS {prefix}outbox (
  seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id VARBINARY(255) NOT NULL,
  topic VARBINARY(200) NOT NULL,
  lane INT NOT NULL,
  message_key VARBINARY(1024),
  key_hash BINARY(16),
  envelope MEDIUMBLOB NOT NULL,
  payload LONGBLOB NOT NULL,
  due_ms BIGINT,
  attempts INT NOT NULL DEFAULT 0,
  crashes INT NOT NULL DEFAULT 0,
  last_error TEXT CHARACTER SET utf8mb4,
  added_ms BIGINT NOT NULL,
  KEY {bare}outbox_key (key_hash, seq),
  -- For a person who asks what became of an event.
  KEY {bare}outbox_id (id)
) ENGINE = InnoDB;

-- One row a relay at work: its lease, and what it holds. Whoever removes a lapsed one may take its lanes.
CREATE TABLE IF NOT EXISTS {prefix}outbox_relays (
  session VARBINARY(64) NOT NULL PRIMARY KEY,
  name VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL,
  until_ms BIGINT NOT NULL,
  started_ms BIGINT NOT NULL,
  claimed MEDIUMTEXT CHARACTER SET ascii NOT NULL,
  alone INT NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {prefix}outbox_lanes (
  lane INT NOT NULL PRIMARY KEY,
  session VARBINARY(64)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {prefix}outbox_parked (
  key_hash BINARY(16) NOT NULL PRIMARY KEY,
  topic VARBINARY(200) NOT NULL,
  message_key VARBINARY(1024) NOT NULL,
  seq BIGINT NOT NULL,
  reason VARCHAR(100) CHARACTER SET ascii NOT NULL,
  last_error TEXT CHARACTER SET utf8mb4,
  since_ms BIGINT NOT NULL,
  until_ms BIGINT
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {prefix}outbox_dead (
  seq BIGINT NOT NULL PRIMARY KEY,
  id VARBINARY(255) NOT NULL,
  topic VARBINARY(200) NOT NULL,
  lane INT NOT NULL,
  message_key VARBINARY(1024),
  key_hash BINARY(16),
  envelope MEDIUMBLOB NOT NULL,
  payload LONGBLOB NOT NULL,
  attempts INT NOT NULL,
  crashes INT NOT NULL,
  reason VARCHAR(100) CHARACTER SET ascii NOT NULL,
  last_error TEXT CHARACTER SET utf8mb4,
  added_ms BIGINT NOT NULL,
  dead_ms BIGINT NOT NULL,
  KEY {bare}outbox_dead_id (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {prefix}outbox_sent (
  seq BIGINT NOT NULL PRIMARY KEY,
  id VARBINARY(255) NOT NULL,
  topic VARBINARY(200) NOT NULL,
  message_key VARBINARY(1024),
  added_ms BIGINT NOT NULL,
  sent_ms BIGINT NOT NULL,
  KEY {bare}outbox_sent_ms (sent_ms),
  KEY {bare}outbox_sent_id (id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS {prefix}outbox_audit (
  place BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  seq BIGINT NOT NULL,
  id VARBINARY(255) NOT NULL,
  actor VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL,
  action VARCHAR(50) CHARACTER SET ascii NOT NULL,
  reason TEXT CHARACTER SET utf8mb4 NOT NULL,
  at_ms BIGINT NOT NULL,
  KEY {bare}outbox_audit_seq (seq),
  KEY {bare}outbox_audit_id (id)
) ENGINE = InnoDB;

-- For writers that want commit order per key without a row of their own to lock.
CREATE TABLE IF NOT EXISTS {prefix}outbox_keys (
  key_hash BINARY(16) NOT NULL PRIMARY KEY,
  used_ms BIGINT NOT NULL
) ENGINE = InnoDB;
