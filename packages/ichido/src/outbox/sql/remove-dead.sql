-- Removes a dead letter that was decided about, or is past its time.
-- Parameters: seq.
-- Result: one row, or none where another call was faster.
-- Guarantee: of two that remove the same letter one gets the row.
delete from {prefix}outbox_dead where seq = :seq
