-- Whether a settlement took effect: the reply may have been lost.
-- Parameters: :id of the proposal.
-- Rows: one or none.
-- Guarantee: S16.
select 1 as found from {audit} where id = :id and at_us is not null
