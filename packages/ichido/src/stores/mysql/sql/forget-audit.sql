-- Removes a proposal whose settlement was refused. One that is left behind by a crash is never seen.
-- Parameters: :id.
-- Result: nothing to decide by.
-- Guarantee: never removes a settlement that took effect.
delete from {audit} where id = :id and at_us is null
