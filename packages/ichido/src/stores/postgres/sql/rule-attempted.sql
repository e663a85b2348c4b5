-- The columns of an attempt, `a` (`history.ts`).
floor(extract(epoch from a.written_at) * 1000000)::bigint, a.place, a.key, a.scope_hash, a.operation,
floor(extract(epoch from a.at) * 1000)::bigint, a.took_us, a.outcome, a.observed::integer, a.status, a.attempt, a.fence,
a.number, a.process, a.release, a.asked_by
