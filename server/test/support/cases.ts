// Owns how many random cases the tests try, and the seed with which they are drawn. `npm run check:all` draws new cases, and four
// times as many as other runs. These draw the same cases in each run of a commit, so that a failure can be repeated.

/** Printed when the tests begin. To draw the cases of another run, set TEST_SEED to its seed. */
export const seed = Number(process.env.TEST_SEED);

export const someOf = (cases: number): number => (process.env.ALL_CASES === '1' ? cases : Math.ceil(cases / 4));
