-- Lanes of no session, or of a session that ended.
-- Parameters: most.
-- Rows: one for each, up to that many.
-- Guarantee: never waits. A hint alone: `take-lanes` decides.
select l.lane from {prefix}outbox_lanes l
where l.session is null or not exists (select 1 from {prefix}outbox_relays r where r.session = l.session)
order by l.lane
limit :most {skip-locked-lanes}
