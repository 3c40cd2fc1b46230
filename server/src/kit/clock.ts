// The clock. Code that depends on the current time takes `now` as a parameter. Only servers and workers read the
// clock.

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
