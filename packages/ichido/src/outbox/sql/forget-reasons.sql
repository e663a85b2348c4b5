-- Empties the reasons of decisions that name what is to be forgotten.
-- Parameters: value.
-- Result: one row for each.
-- Guarantee: what was decided, by whom and when stays.
update {prefix}outbox_audit set reason = '' where reason <> '' and replace(reason, :value, '') <> reason
