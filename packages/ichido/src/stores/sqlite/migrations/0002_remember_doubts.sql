-- What a record remembers of a doubt. Rows that were there before count as in doubt: whoever holds one finds out.

-- How the present owner came by the record: a claim that is sent again after a lost reply is told the same.
ALTER TABLE ichido_records ADD COLUMN origin TEXT NOT NULL DEFAULT 'lapsed'
  CHECK (origin IN ('new', 'failed', 'lapsed', 'suspended'));

-- 1: while `processing` the record does not expire, because what its owner did must be found out first.
ALTER TABLE ichido_records ADD COLUMN doubt_stays INTEGER NOT NULL DEFAULT 1;

DROP INDEX ichido_records_expires;

CREATE INDEX ichido_records_expires ON ichido_records (expires_us)
  WHERE state = 'completed'
    OR (steps_started = 0 AND interim_status IS NULL AND hold_reason IS NULL AND (state = 'failed' OR doubt_stays = 0));
