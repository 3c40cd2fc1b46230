// The demo shop's variants. Each has one planted bug, the flow that triggers it, and words that a report must
// contain to count as having found the bug. The same flow in the unmodified shop serves as the control. Two more
// variants have no bug: one renames a button, and one is slow.
import type { Patch } from './shop.ts';

export interface Variant {
  readonly bug: string;
  readonly patch: Patch;
  /** The name of the flow that triggers the bug. */
  readonly flow: string;
  /** Must match an issue's title or description in the report. */
  readonly named: RegExp;
}

const variant = (
  bug: string,
  flow: string,
  named: RegExp,
  file: string,
  old_text: string,
  new_text: string,
): Variant => ({
  bug,
  flow,
  named,
  patch: { file, old_text, new_text },
});

export const variants: readonly Variant[] = [
  variant(
    'broken validation',
    'A wrong e-mail address is refused',
    /Enter a valid e-mail address/,
    'public/orders.js',
    '/^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$/.test(email)',
    '/^\\S+$/.test(email)',
  ),
  variant(
    'wrong total',
    'The total counts each piece',
    /€12\.60/,
    'public/orders.js',
    'quantity * price_cents',
    'price_cents',
  ),
  variant(
    'dead button',
    'An order has several items',
    /Product 2|€14\.30/,
    'public/form.js',
    "form.querySelector('[data-add-item]').addEventListener('click', () => addItem());",
    "form.querySelector('[data-add-item]').addEventListener('dblclick', () => addItem());",
  ),
  variant(
    'lost update',
    'A note is changed',
    /With candles/,
    'public/app.js',
    'entities.Order.update(id, order);',
    'entities.Order.update(id, { ...order, note: undefined });',
  ),
  variant(
    'wrong role sees data',
    'Users see their own orders only',
    /Olive Oldham/,
    'entities/Order.json',
    '"read": { "$or": [{ "created_by_id": "{{user.id}}" }, { "user_condition": { "role": "admin" } }] }',
    '"read": { "user_condition": { "id": "{{user.id}}" } }',
  ),
  variant(
    'exception',
    'An order is opened',
    /undefined/,
    'public/app.js',
    '  link.textContent = order.customer;\n',
    "  link.textContent = order.customer;\n  link.addEventListener('click', () => order.history.length);\n",
  ),
  variant(
    'broken mobile layout',
    'The list fits a phone',
    /fit|wider|width/i,
    'public/shop.css',
    '  .orders li {\n    grid-template-columns: 1fr auto;\n  }\n',
    '  .orders li {\n    min-width: 34rem;\n  }\n',
  ),
  variant(
    'wrong sort',
    'The next order due comes first',
    /Deb Sooner/,
    'public/app.js',
    "sort: 'due,created_date'",
    "sort: '-due,created_date'",
  ),
  variant(
    'filter ignored',
    'Paid orders can be listed',
    /Ben Baker/,
    'public/orders.js',
    "show === 'All' || paid === (show === 'Paid')",
    "show !== 'Open' || !paid",
  ),
  variant(
    'double submit',
    'One click saves one order',
    /created twice/,
    'public/form.js',
    '() => save(id, order));',
    '() => Promise.all([save(id, order), save(id, order)]));',
  ),
  variant(
    'failing request',
    'Signing in loads the shop',
    /settings/,
    'public/app.js',
    '  user = now;\n',
    "  user = now;\n  void import('/_plinth/app.js').then(({ app }) => fetch(app.api + '/settings', { headers: { 'x-shop': '1' } })).catch(() => {});\n",
  ),
  variant(
    'wrong link',
    'Help is a click away',
    /How orders work/,
    'public/index.html',
    '"/help.html"',
    '"/hilfe.html"',
  ),
  variant(
    'stale list after a delete',
    'A deleted order disappears',
    /Ada Archer/,
    'public/app.js',
    "const { items } = await entities.Order.list({ sort: 'due,created_date', limit: 200 });",
    "const { items } = orders.length > 0 ? { items: orders } : await entities.Order.list({ sort: 'due,created_date', limit: 200 });",
  ),
  variant(
    'wrong date',
    'The due date is shown in words',
    /3 December 2026/,
    'public/orders.js',
    'months[month - 1]',
    'months[month % 12]',
  ),
  variant(
    'lost selection',
    'The chosen list is kept',
    /Show/,
    'public/app.js',
    '    orders = items;\n',
    '    orders = items;\n    tools.reset();\n',
  ),
  variant(
    'missing empty state',
    'An empty list says so',
    /No orders yet/,
    'public/app.js',
    '.hidden = orders.length > 0;',
    '.hidden = true;',
  ),
  variant(
    'uncaught rejection',
    'An order is paid',
    /receipt/,
    'public/app.js',
    "    say('The order is paid.');\n",
    "    say('The order is paid.');\n    void Promise.reject(new Error('no printer for the receipt'));\n",
  ),
  variant(
    'broken back navigation',
    'Back leads to the list',
    /New order|Ada Archer|Back/,
    'public/app.js',
    '  link.textContent = order.customer;\n',
    "  link.textContent = order.customer;\n  link.addEventListener('click', () => location.replace(link.href));\n",
  ),
  variant(
    'wrong rounding',
    'Half a cent is rounded up',
    /€11\.01/,
    'public/orders.js',
    'Math.round((full',
    'Math.floor((full',
  ),
  variant(
    'search by case',
    'The search ignores case',
    /Ada Archer/,
    'public/orders.js',
    'customer.toLowerCase().includes(text)',
    'customer.includes(text)',
  ),
  variant(
    'disabled field is kept',
    'Who picks up needs no address',
    /1 Mill Lane/,
    'public/form.js',
    "delivery.value === 'Delivery' ? address.value.trim() : null",
    'address.value.trim() || null',
  ),
  variant(
    'report without open orders',
    'The report adds up all orders',
    /€21\.35/,
    'public/app.js',
    'items.reduce((sum, order) => sum + totalOf(order), 0)',
    'items.reduce((sum, order) => sum + (order.paid ? totalOf(order) : 0), 0)',
  ),
  variant(
    'report for everybody',
    'Users have no report',
    /Only admins see the report/,
    'public/app.js',
    "const isAdmin = user.role === 'admin';",
    'const isAdmin = user !== null;',
  ),
  variant(
    'order left after signing out',
    'Signing out hides the order',
    /Ada Archer/,
    'public/app.js',
    'if (user === null) return show(null);',
    'if (user === null) return;',
  ),
];

/** Changes a button's wording. A recording made in the unmodified shop must be healed. */
export const renamedButton: Patch = {
  file: 'public/index.html',
  old_text: 'data-testid="save-order">Save order<',
  new_text: 'data-testid="save-order">Take the order<',
};

/** Delays each view. A test must wait instead of failing. */
export const slowPage: Patch = {
  file: 'public/app.js',
  old_text: '    const draw = await prepare(view, id, action);\n',
  new_text:
    '    await new Promise((resolve) => setTimeout(resolve, 400));\n    const draw = await prepare(view, id, action);\n',
};
