-- Takes lanes after another look, now that the rows are locked: the reading may be older than a session that took them
-- meanwhile, and then it has seen neither that session nor its right.
-- Parameters: session, lanes.
-- Result: how many were taken; fewer than asked where another session was faster.
-- Guarantee: a lane belongs to one session.
update {prefix}outbox_lanes set session = :session
where lane in (:lanes)
  and (session is null or not exists (
    select 1 from {prefix}outbox_relays r where r.session = {prefix}outbox_lanes.session
  ))
