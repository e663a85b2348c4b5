-- Writes a batch of attempts.
-- Parameters: {rows} is one row of values per attempt.
-- Result: insertId, the id of the first; they follow each other.
-- Guarantee: S21.
insert into {attempts} (
  written_us, `key`, scope_hash, operation, at_us, took_us, outcome, observed, status, attempt, fence, number, process,
  release_name, asked_by, intent
) values {rows}
