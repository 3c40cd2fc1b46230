// Prices of last year. Nothing uses them any more.

export const oldPrices = { rye: 390, spelt: 420, baguette: 210 };
