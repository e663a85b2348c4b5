-- Where the attempts, the pages of the log and the pairs end.
-- Parameters: none.
-- Rows: one.
-- Guarantee: S21; under the write lock it holds until commit.
SELECT
  coalesce((SELECT max(place) FROM {prefix}attempts), 0) AS attempts,
  coalesce((SELECT max(place) FROM {prefix}log_pages), 0) AS pages,
  coalesce((SELECT max(place) FROM {prefix}twins), 0) AS twins
