-- The columns of a pair, `t` (`history.ts`).
floor(extract(epoch from t.written_at) * 1000000)::bigint, t.place, t.scope_hash, t.operation, t.first_key, t.second_key,
t.apart_us
