// What an order is: what it costs, how it is shown as text, and what has to be right before it is saved. Touches no page.

const months = 'January February March April May June July August September October November December'.split(' ');

/** 2026-12-03 → 3 December 2026 */
export function formatDate(date) {
  const [year, month, day] = date.split('-').map(Number);
  return `${day} ${months[month - 1]} ${year}`;
}

export const formatMoney = (cents) => `€${(cents / 100).toFixed(2)}`;

/** In cents; half a cent is rounded up. */
export function totalOf({ items, discount_percent = 0 }) {
  const full = items.reduce((sum, { quantity, price_cents }) => sum + quantity * price_cents, 0);
  return Math.round((full * (100 - discount_percent)) / 100);
}

/** Sentences that say what is wrong. */
export function findProblems({ customer, email, due, items, delivery, address }) {
  const problems = [];
  if (customer === '') problems.push('Enter the name of the customer.');
  if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email)) problems.push('Enter a valid e-mail address.');
  if (due === '') problems.push('Choose the day on which the order is due.');
  if (items.some(({ quantity }) => !(quantity >= 1))) problems.push('Each quantity must be at least 1.');
  if (delivery === 'Delivery' && !address) problems.push('Enter the address for the delivery.');
  return problems;
}

/** The orders whose customer contains the text, of the chosen status. */
export function chooseOrders(orders, { search, show }) {
  const text = search.trim().toLowerCase();
  return orders
    .filter(({ customer }) => customer.toLowerCase().includes(text))
    .filter(({ paid }) => show === 'All' || paid === (show === 'Paid'));
}
