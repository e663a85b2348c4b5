-- Empties a reason wherever the audit has it.
-- Parameters: reason.
-- Rows: one, how many entries had it.
-- Guarantee: S24. Who did what and when stays. May be run again.
with emptied as (update {prefix}audit set reason = '' where reason = $1::text returning 1)
select count(*) from emptied
