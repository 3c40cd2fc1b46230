// The form of an order, for a new one and for changes.
import { run } from '/notice.js';
import { findProblems, formatMoney, totalOf } from '/orders.js';

const form = document.querySelector('[data-order-form]');
const items = form.querySelector('[data-items]');
const problems = form.querySelector('[data-problems]');
const template = document.querySelector('#item-template');

/** Calls `save(id, order)` with what was entered, once it is right; `id` is null for a new order. */
export function startForm({ save }) {
  let id = null;
  let products = [];

  const addItem = (item) => {
    const row = template.content.firstElementChild.cloneNode(true);
    const product = row.querySelector('[data-product]');
    product.replaceChildren(...products.map(({ name }) => new Option(name)));
    if (item) product.value = item.product;
    if (item) row.querySelector('[data-quantity]').value = item.quantity;
    row.querySelector('[data-remove]').addEventListener('click', () => {
      row.remove();
      update();
    });
    items.append(row);
    update();
  };

  const readItem = (row) => {
    const name = row.querySelector('[data-product]').value;
    const quantity = Number(row.querySelector('[data-quantity]').value);
    const price_cents = products.find((product) => product.name === name)?.price_cents ?? 0;
    return { product: name, quantity, price_cents };
  };

  const read = () => {
    const { customer, email, due, delivery, address, discount, note } = form.elements;
    return {
      customer: customer.value.trim(),
      email: email.value.trim(),
      due: due.value,
      delivery: delivery.value,
      address: delivery.value === 'Delivery' ? address.value.trim() : null,
      items: [...items.children].map(readItem),
      discount_percent: Number(discount.value),
      note: note.value.trim() || null,
    };
  };

  /** What follows from the fields: the names of the rows, the total, and whether an address is needed. */
  const update = () => {
    for (const [index, row] of [...items.children].entries()) {
      row.querySelector('[data-product]').setAttribute('aria-label', `Product ${index + 1}`);
      row.querySelector('[data-quantity]').setAttribute('aria-label', `Quantity ${index + 1}`);
      row.querySelector('[data-remove]').setAttribute('aria-label', `Remove item ${index + 1}`);
      row.querySelector('[data-remove]').hidden = items.children.length === 1;
    }
    form.elements.address.disabled = form.elements.delivery.value !== 'Delivery';
    form.querySelector('[data-total]').textContent = formatMoney(totalOf(read()));
  };

  form.addEventListener('input', update);
  form.querySelector('[data-add-item]').addEventListener('click', () => addItem());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const order = read();
    const found = findProblems(order);
    problems.textContent = found.join(' ');
    if (found.length > 0) return;
    void run(form.querySelector('[type="submit"]'), () => save(id, order));
  });

  return {
    fill(order, sold) {
      id = order?.id ?? null;
      products = sold;
      form.reset();
      problems.textContent = '';
      document.querySelector('#form-heading').textContent =
        order === null ? 'New order' : `Change the order of ${order.customer}`;
      for (const name of ['customer', 'email', 'due', 'delivery', 'address', 'note'])
        if (order?.[name]) form.elements[name].value = order[name];
      if (order !== null) form.elements.discount.value = order.discount_percent;
      items.replaceChildren();
      for (const item of order?.items ?? [undefined]) addItem(item);
    },
  };
}
