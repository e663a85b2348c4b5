-- Reasons in the audit that have a value as a part: it may be a part of another word. Also of proposals.
-- Parameters: :value.
-- Rows: one for each entry.
-- Guarantee: committed state only; a reason that is written meanwhile may be missing.
select a.reason from {audit} a where locate(:value, a.reason) > 0
