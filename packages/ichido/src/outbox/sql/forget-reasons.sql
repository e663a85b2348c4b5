-- Empties reasons of decisions.
-- Parameters: :reason, as `find-reasons` tells it.
-- Result: one row for each.
-- Guarantee: what was decided, by whom and when stays.
update {prefix}outbox_audit set reason = '' where reason = :reason
