// How many percent are taken off a line of an order.

const steps = [
  { pieces: 50, percent: 10 },
  { pieces: 10, percent: 5 },
];

export const discountPercent = (quantity) => steps.find(({ pieces }) => quantity > pieces)?.percent ?? 0;
