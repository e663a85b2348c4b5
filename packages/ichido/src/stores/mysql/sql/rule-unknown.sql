-- No owner is at work on it, or its owner took it over in doubt.
r.state = 'processing' and ({doubtful} or not {live})
