-- Removes what is past the bound of one record: of runs, or of all other answers.
-- Parameters: key, scope hash, whether runs are meant, key, scope hash, whether runs are meant, how many stay.
-- Rows: none; one change per attempt.
-- Guarantee: S21.
DELETE FROM {prefix}attempts
WHERE key = ? AND scope_hash = ? AND (outcome = 'executed') = ? AND place <= (
  SELECT place FROM {prefix}attempts
  WHERE key = ? AND scope_hash = ? AND (outcome = 'executed') = ?
  ORDER BY place DESC LIMIT 1 OFFSET ?
)
