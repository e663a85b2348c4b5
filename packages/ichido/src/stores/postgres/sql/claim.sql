-- Claims one or many identities, each of which appears once, in key order; see `0002_create_functions.sql`.
-- Parameters: arrays of key, scope hash, tenant, principal, operation, fingerprint version, raw, canonical and former
-- hash, owner, lease ms, retention ms, takeover, whether a doubt stays, labels; then the lock timeout in ms.
-- Rows: one per identity, `place` counting from 1; last the process that serves the session, by which a connection that
-- goes through a pooler is known.
-- Guarantee: S1 to S4, S6, S9 to S11. Each identity by itself: one that is refused changes nothing for the others.
select *, pg_backend_pid() from {prefix}claim(
  $1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::bytea[], $8::bytea[], $9::bytea[],
  $10::uuid[], $11::bigint[], $12::bigint[], $13::text[], $14::boolean[], $15::text[], $16::integer
)
