-- Removes attempts whose record is gone, or never was.
-- Parameters: {rows} is one `a.id = …` per attempt, joined by `or`.
-- Result: nothing to decide by.
-- Guarantee: S21.
delete a from {attempts} a where {rows}
