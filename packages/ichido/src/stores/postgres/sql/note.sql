-- Appends to the audit. A key of no characters: it is about no single record.
-- Parameters: key, scope hash, fence, actor, action, reason.
-- Rows: none.
-- Guarantee: S23.
insert into {prefix}audit (key, scope_hash, fence, actor, action, reason, at)
values ($1::text, $2::bytea, $3::bigint, $4::text, $5::text, $6::text, clock_timestamp())
