-- Dead letters past their time that park no key.
-- Parameters: keep_ms, limit.
-- Rows: one for each, up to the limit.
-- Guarantee: a letter that a key waits for is not among them.
select d.seq from {prefix}outbox_dead d
where d.dead_ms < {now} - :keep_ms
  and not exists (select 1 from {prefix}outbox_parked p where p.key_hash = d.key_hash and p.seq = d.seq)
order by d.seq limit :limit
