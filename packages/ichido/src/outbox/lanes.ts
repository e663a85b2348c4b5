/** Lanes are what relays share: a key belongs to one lane, a lane to one relay. More of them would only be more rows. */
export const laneCount = 64;
