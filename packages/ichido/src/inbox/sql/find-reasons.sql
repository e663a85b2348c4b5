-- Reasons of decisions that may name what is to be forgotten: it may be a part of another word.
-- Parameters: :value.
-- Rows: each reason once.
-- Guarantee: committed state only; a reason that is written meanwhile may be missing.
select distinct reason from {prefix}inbox_audit where reason <> '' and replace(reason, :value, '') <> reason
