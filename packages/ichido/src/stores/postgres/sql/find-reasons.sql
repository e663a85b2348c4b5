-- Reasons in the audit that have a value as a part: it may be a part of another word.
-- Parameters: value.
-- Rows: each reason once.
-- Guarantee: committed state only; a reason that is written meanwhile may be missing.
select distinct reason from {prefix}audit where strpos(reason, $1::text) > 0
