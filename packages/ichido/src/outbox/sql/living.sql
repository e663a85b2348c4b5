select count(*) as living from {prefix}outbox_relays
