-- Records that have more attempts than are kept, of runs or of all other answers.
-- Parameters: {rows} is one `(r.key = … and r.scope_hash = …)` per record, joined by `or`; then how many are kept.
-- Rows: one for each record and each of the two.
-- Guarantee: S21.
select r.`key`, r.scope_hash, r.outcome = 'executed' as is_run
from {attempts} r
where {rows}
group by r.`key`, r.scope_hash, r.outcome = 'executed'
having count(*) > ?
