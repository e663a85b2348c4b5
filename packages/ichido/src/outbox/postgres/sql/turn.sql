-- A whole turn in one statement, where all that became of events is that they were sent: removes them, reads the next ones
-- by the text of claim.sql, renews the session and notes what it now holds. Comes after settings.sql.
-- Parameters: seqs, floor, lanes, claimed (still in hand, and those just sent), topics, full_keys, passed_keys, batch, session,
-- lease_ms, held (the numbers still in hand, comma-separated).
-- Rows: one for each event; one without a number where there is nothing to send; none where the session was taken over, and
-- the turn must be rolled back.
-- Guarantee: that of claim.sql and hold.sql. Does not wait for the disk: what a server's crash may undo is that events were
-- sent, and they are sent again.
with gone as (
  delete from {prefix}outbox where seq in (:seqs)
),
found as (
  {claim}
),
held as (
  update {prefix}outbox_relays
  set until_ms = {now} + :lease_ms,
    claimed = concat_ws(',', nullif(:held, ''), (select string_agg(seq::text, ',') from found)),
    alone = 0
  where session = :session
    and (select set_config('synchronous_commit', 'off', true)) is not null
  returning session
)
select held.session, found.* from held left join found on true order by found.seq
