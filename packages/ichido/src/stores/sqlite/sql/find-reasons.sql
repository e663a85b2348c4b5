-- Reasons in the audit that have a value as a part: it may be a part of another word.
-- Parameters: value.
-- Rows: each reason once.
-- Guarantee: S24, under the write lock of the change that follows.
SELECT DISTINCT reason FROM {prefix}audit WHERE instr(reason, ?) > 0
