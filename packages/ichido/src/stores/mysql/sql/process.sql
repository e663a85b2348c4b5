-- Who makes the owner tokens that begin like this.
-- Parameters: :owners.
-- Rows: one or none.
-- Guarantee: S21.
select p.process, p.release_name from {processes} p where p.owners = :owners
