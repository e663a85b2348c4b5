-- Empties a reason wherever the audit has it.
-- Parameters: :reason.
-- Result: one affected row for each entry.
-- Guarantee: S24. Who did what and when stays. May be run again.
update {audit} set reason = '' where reason = :reason
