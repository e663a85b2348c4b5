-- The greatest fence that was deleted.
-- Parameters: none.
-- Rows: one.
-- Guarantee: S6; under the write lock it holds until commit.
SELECT floor FROM {prefix}fence WHERE id = 1
