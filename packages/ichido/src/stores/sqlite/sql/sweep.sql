-- Removes one record that `sweep-pick` found in the same transaction.
-- Parameters: row.
-- Rows: none; one change.
-- Guarantee: S11.
DELETE FROM {prefix}records WHERE rowid = ?
