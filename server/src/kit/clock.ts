// Owns the reading of time. Everything that decides by time is handed `now`; only the edges ask a clock.

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
