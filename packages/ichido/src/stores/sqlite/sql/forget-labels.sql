-- Removes the labels of a record that is about to go or to run as new.
-- Parameters: key, scope hash.
-- Rows: none; one change per label.
-- Guarantee: reads the names from the record itself, so it runs before the record changes.
DELETE FROM {prefix}labels
WHERE (name, value, key, scope_hash) IN (
  SELECT label.key, label.value, record.key, record.scope_hash
  FROM {prefix}records AS record, json_each(record.labels) AS label
  WHERE record.key = ? AND record.scope_hash = ?
)
