// The shop's order desk: signing in, and the views that the address names after the #.
import { auth, entities } from '/_plinth/client.js';
import { startForm } from '/form.js';
import { run, say, sayError } from '/notice.js';
import { chooseOrders, formatDate, formatMoney, totalOf } from '/orders.js';

const find = (selector) => document.querySelector(selector);
const tools = find('[data-tools]');
const signInForm = find('[data-sign-in]');

let user = null;
let products = [];
/** The orders that the server lets this person see, by the day on which they are due. */
let orders = [];
/** Counts what was opened, so an answer that comes late is not shown in another view. */
let turn = 0;

const form = startForm({
  async save(id, order) {
    const saved = id === null ? await entities.Order.create(order) : await entities.Order.update(id, order);
    leaveFor(`#/orders/${saved.id}`, 'The order is saved.');
  },
});

// ---- signing in

signInForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const { email, password } = Object.fromEntries(new FormData(signInForm));
  void run(signInForm.querySelector('button'), async () => {
    await auth.signIn({ email, password });
    signInForm.reset();
  });
});

find('[data-sign-out]').addEventListener('click', () => void auth.signOut());

auth.onChange((now) => {
  user = now;
  orders = [];
  drawOrders();
  find('[data-signed-in]').hidden = user === null;
  find('[data-signed-out]').hidden = user !== null;
  find('[data-admin]').hidden = user?.role !== 'admin';
  void open();
});

// ---- views

/** What is said in the view that the form left for, until another view is opened. */
let said = { hash: '', message: '' };

addEventListener('hashchange', () => {
  say(location.hash === said.hash ? said.message : '');
  if (location.hash !== said.hash) said = { hash: '', message: '' };
  void open();
});

/** Opens a view in the place of this one, to which nobody goes back. */
function leaveFor(hash, message) {
  said = { hash, message };
  location.replace(hash);
}

async function open() {
  turn += 1;
  const opened = turn;
  const [view, id, action] = location.hash.replace(/^#\//, '').split('/');
  if (user === null) return show(null);
  try {
    if (products.length === 0) products = (await entities.Product.list({ sort: 'name' })).items;
    const draw = await prepare(view, id, action);
    if (opened === turn) draw();
  } catch (error) {
    sayError(error);
  }
}

/** Reads what the view needs. Returns what shows it. */
async function prepare(view, id, action) {
  if (view === 'new') return () => showForm(null);
  if (view === 'report') return prepareReport();
  if (view === 'orders' && id !== undefined) {
    const order = await entities.Order.get(id);
    return () => (action === 'edit' ? showForm(order) : showOrder(order));
  }
  const { items } = await entities.Order.list({ sort: 'due,created_date', limit: 200 });
  return () => {
    orders = items;
    drawOrders();
    show('orders');
  };
}

function show(name) {
  for (const view of document.querySelectorAll('[data-view]')) view.hidden = view.dataset.view !== name;
}

for (const button of document.querySelectorAll('[data-back]')) button.addEventListener('click', () => history.back());

// ---- the list

tools.addEventListener('submit', (event) => event.preventDefault());
tools.addEventListener('input', drawOrders);

function drawOrders() {
  const chosen = chooseOrders(orders, Object.fromEntries(new FormData(tools)));
  find('[data-orders]').replaceChildren(...chosen.map(toRow));
  find('[data-empty]').hidden = orders.length > 0;
  find('[data-summary]').textContent = summarize(chosen);
}

function summarize(chosen) {
  if (chosen.length === 0) return orders.length === 0 ? '' : 'No order matches.';
  const next = chosen.find(({ paid }) => !paid);
  const count = chosen.length === 1 ? '1 order' : `${chosen.length} orders`;
  return next === undefined ? `${count}, all paid` : `${count}, next due: ${next.customer}`;
}

function toRow(order) {
  const row = find('#order-template').content.firstElementChild.cloneNode(true);
  const link = row.querySelector('[data-customer]');
  link.textContent = order.customer;
  link.href = `#/orders/${order.id}`;
  row.querySelector('[data-due]').textContent = formatDate(order.due);
  row.querySelector('[data-sum]').textContent = formatMoney(totalOf(order));
  row.querySelector('[data-status]').textContent = order.paid ? 'Paid' : 'Open';
  return row;
}

// ---- one order

let shown = null;

function showForm(order) {
  form.fill(order, products);
  show('form');
}

function showOrder(order) {
  shown = order;
  find('#order-heading').textContent = `Order of ${order.customer}`;
  const items = order.items.map(({ product, quantity }) => `${quantity} × ${product}`).join(', ');
  const facts = [
    ['Due', formatDate(order.due)],
    ['Items', items],
    ['Total', formatMoney(totalOf(order))],
    ['Handover', order.delivery],
    ['Address', order.address],
    ['Note', order.note],
    ['Status', order.paid ? 'Paid' : 'Open'],
  ];
  find('[data-facts]').replaceChildren(...facts.filter(([, value]) => value).flatMap(toFact));
  find('[data-pay]').hidden = order.paid;
  find('[data-edit]').href = `#/orders/${order.id}/edit`;
  show('order');
}

function toFact([name, value]) {
  const term = document.createElement('dt');
  const description = document.createElement('dd');
  term.textContent = name;
  description.textContent = value;
  return [term, description];
}

find('[data-pay]').addEventListener('click', ({ currentTarget }) =>
  run(currentTarget, async () => {
    showOrder(await entities.Order.update(shown.id, { paid: true }));
    say('The order is paid.');
  }),
);

find('[data-delete]').addEventListener('click', ({ currentTarget }) => {
  if (!confirm(`Delete the order of ${shown.customer}?`)) return;
  void run(currentTarget, async () => {
    await entities.Order.delete(shown.id);
    leaveFor('#/orders', 'The order is deleted.');
  });
});

// ---- the report

async function prepareReport() {
  const isAdmin = user.role === 'admin';
  const { items } = isAdmin ? await entities.Order.list({ limit: 1000 }) : { items: [] };
  const sold = Map.groupBy(
    items.flatMap((order) => order.items),
    ({ product }) => product,
  );
  const lines = [...sold].map(
    ([product, lines]) => `${product}: ${lines.reduce((sum, { quantity }) => sum + quantity, 0)}`,
  );
  return () => {
    find('[data-report-refused]').hidden = isAdmin;
    find('[data-report-body]').hidden = !isAdmin;
    find('[data-report-count]').textContent = String(items.length);
    find('[data-report-sum]').textContent = formatMoney(items.reduce((sum, order) => sum + totalOf(order), 0));
    find('[data-report-products]').replaceChildren(
      ...lines.sort().map((line) => Object.assign(document.createElement('li'), { textContent: line })),
    );
    show('report');
  };
}
