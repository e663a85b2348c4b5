-- The columns of an attempt, `a` (`history.ts`).
a.key, a.scope_hash, a.operation, floor(extract(epoch from a.at) * 1000)::bigint, a.took_us, a.outcome, a.observed::integer,
a.status, a.attempt, a.fence, a.number, a.count, a.spread_us, a.process, a.release, a.asked_by
