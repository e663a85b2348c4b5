-- Who makes the owner tokens that begin like this.
-- Parameters: owners.
-- Rows: one or none.
-- Guarantee: S21.
SELECT process, release FROM {prefix}processes WHERE owners = ?
