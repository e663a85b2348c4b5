-- Suspended with an interim answer, or on hold.
(response_status is not null or hold_reason is not null)
