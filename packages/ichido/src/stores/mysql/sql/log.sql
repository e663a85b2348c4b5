-- Writes down attempts that are found by their record.
-- Parameters: {rows} is one row of values per attempt.
-- Result: insertId, the id of the first; they follow each other.
-- Guarantee: S21.
insert into {attempts} (
  written_us, `key`, scope_hash, operation, at_us, took_us, outcome, observed, status, attempt, fence, number,
  attempts_told, spread_us, process, release_name, asked_by
) values {rows}
