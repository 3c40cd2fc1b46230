// The number of random cases that tests try, and the seed for drawing them. `npm run check:all` draws new cases,
// four times as many as other runs. Other runs always draw the same cases for a given commit, so a failure can be
// reproduced.

/** Printed when the tests start. To draw another run's cases, set TEST_SEED to its seed. */
export const seed = Number(process.env.TEST_SEED);

export const someOf = (cases: number): number => (process.env.ALL_CASES === '1' ? cases : Math.ceil(cases / 4));
