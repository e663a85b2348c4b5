-- The migrations that ran.
-- Parameters: :part.
-- Rows: one per migration.
-- Guarantee: one consistent state.
select version, checksum from {prefix}migrations where part = :part order by version
