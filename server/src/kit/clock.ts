// Owns the clock. Code that depends on the time takes `now` as a parameter; only servers and workers read a clock.

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
