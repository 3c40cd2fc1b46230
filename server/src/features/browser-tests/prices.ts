// The prices for tests, in credits (docs/api/credits.md#prices).

export const runPrice = 3;
export const generationPrice = 2;
