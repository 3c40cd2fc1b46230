// Owns how many random cases the tests try: with `ALL_CASES=1 npm test` all of them, otherwise a quarter, because CI must not
// take long. Each run draws other cases, unless the test has a seed.

export const someOf = (cases: number): number => (process.env.ALL_CASES === '1' ? cases : Math.ceil(cases / 4));
