// The demo shop's flows: each has a goal in words, and the tool calls that the sandbox model plays for it. Whether
// a flow passes is decided by the checks and the browser's reports, never by the calls.
import type { TestPlay } from '../test-play.ts';
import {
  click,
  expectCount,
  expectFit,
  expectNoText,
  expectText,
  expectValue,
  open,
  resize,
  type ShopCall,
  select,
  type,
} from './recorded-call.ts';

export interface ShopFlow {
  readonly name: string;
  readonly goal: string;
  readonly role: 'user' | 'admin';
  readonly calls: readonly ShopCall[];
}

const signIn: readonly ShopCall[] = [
  type('textbox', 'E-mail address', '{{email}}'),
  type('textbox', 'Password', '{{password}}'),
  click('button', 'Sign in'),
];

interface OrderWords {
  readonly customer: string;
  readonly email?: string;
  readonly due?: string;
  /** Calls that fill in additional fields before the order is saved. */
  readonly more?: readonly ShopCall[];
}

const save = click('button', 'Save order');

const fillIn = ({ customer, email = 'ada@customers.example', due = '2026-12-03', more = [] }: OrderWords) => [
  click('link', 'New order'),
  type('textbox', 'Customer', customer),
  type('textbox', 'E-mail', email),
  type('textbox', 'Due date', due),
  ...more,
];

/** Places an order. Ends on the new order's page. */
const takeOrder = (words: OrderWords): readonly ShopCall[] => [
  ...fillIn(words),
  save,
  expectText('The order is saved.'),
];
const back = click('button', 'Back');

const flow = (name: string, goal: string, calls: readonly ShopCall[], role: ShopFlow['role'] = 'user'): ShopFlow => ({
  name,
  goal,
  role,
  calls: [...signIn, ...calls],
});

const list = [
  flow('An order is taken', 'Take an order for Ada Archer and check that the list shows it with its total.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    expectCount('link', 'Ada Archer', 1),
    expectText('€12.95'),
  ]),
  flow('A wrong e-mail address is refused', 'Take an order with a wrong e-mail address. The form must say so.', [
    ...fillIn({ customer: 'Ada Archer', email: 'nowhere' }),
    save,
    expectText('Enter a valid e-mail address.'),
  ]),
  flow('The total counts each piece', 'Order three pieces of rye bread and check the total before and after saving.', [
    ...fillIn({
      customer: 'Ada Archer',
      more: [select('combobox', 'Product 1', 'Rye bread'), type('spinbutton', 'Quantity 1', '3')],
    }),
    expectText('€12.60'),
    save,
    expectText('3 × Rye bread'),
    expectText('€12.60'),
  ]),
  flow('An order has several items', 'Order an apple cake and a croissant together and check the total.', [
    ...fillIn({
      customer: 'Ada Archer',
      more: [click('button', 'Add another item'), select('combobox', 'Product 2', 'Croissant')],
    }),
    expectText('€14.30'),
    save,
    expectText('1 × Apple cake, 1 × Croissant'),
  ]),
  flow('A note is changed', 'Take an order with a note, change the note, and check that the order shows the new one.', [
    ...takeOrder({ customer: 'Ada Archer', more: [type('textbox', 'Note', 'No nuts')] }),
    click('link', 'Edit'),
    type('textbox', 'Note', 'With candles'),
    save,
    expectText('The order is saved.'),
    expectText('With candles'),
    expectNoText('No nuts'),
  ]),
  flow('Users see their own orders only', 'As a user, check that the orders of other people are not listed.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    expectCount('link', 'Ada Archer', 1),
    expectNoText('Olive Oldham'),
  ]),
  flow('An order is opened', 'Take an order, open it from the list and check what it says.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    click('link', 'Ada Archer'),
    expectText('Order of Ada Archer'),
  ]),
  flow('The list fits a phone', 'Take an order, and check that the list of orders fits the screen of a phone.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    resize(390, 844),
    expectCount('link', 'Ada Archer', 1),
    expectFit(),
  ]),
  flow(
    'The next order due comes first',
    'Take an order for January and one for December. The earlier one is due next.',
    [
      ...takeOrder({ customer: 'Jan Later', due: '2027-01-20' }),
      back,
      ...takeOrder({ customer: 'Deb Sooner', due: '2026-12-05' }),
      back,
      expectText('2 orders, next due: Deb Sooner'),
    ],
  ),
  flow('Paid orders can be listed', 'Take two orders, mark one as paid, and list the paid ones.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    click('button', 'Mark as paid'),
    expectText('The order is paid.'),
    back,
    ...takeOrder({ customer: 'Ben Baker' }),
    back,
    select('combobox', 'Show', 'Paid'),
    expectCount('link', 'Ada Archer', 1),
    expectCount('link', 'Ben Baker', 0),
  ]),
  flow('One click saves one order', 'Save an order with one click and check that the list has it once.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    expectText('1 order, next due: Ada Archer'),
    expectCount('link', 'Ada Archer', 1),
  ]),
  flow('Signing in loads the shop', 'Sign in and check that the empty list of orders is shown.', [
    expectText('No orders yet.'),
    click('link', 'New order'),
    expectText('New order'),
  ]),
  flow('Help is a click away', 'Open the help from the list of orders.', [
    expectText('No orders yet.'),
    click('link', 'Help'),
    expectText('How orders work'),
  ]),
  flow('A deleted order disappears', 'Take an order, delete it, and check that the list no longer has it.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    click('link', 'Ada Archer'),
    click('button', 'Delete order'),
    expectText('The order is deleted.'),
    expectCount('link', 'Ada Archer', 0),
  ]),
  flow('The due date is shown in words', 'Take an order for 3 December 2026 and check that its page says so.', [
    ...takeOrder({ customer: 'Ada Archer', due: '2026-12-03' }),
    expectText('3 December 2026'),
  ]),
  flow(
    'The chosen list is kept',
    'List the open orders, open one, go back, and check that still the open ones are listed.',
    [
      ...takeOrder({ customer: 'Ada Archer' }),
      back,
      select('combobox', 'Show', 'Open'),
      click('link', 'Ada Archer'),
      expectText('Order of Ada Archer'),
      back,
      expectValue('combobox', 'Show', 'Open'),
    ],
  ),
  flow(
    'An empty list says so',
    'Sign in as somebody without orders and check that the page says that there are none.',
    [expectText('No orders yet. Take the first one.')],
  ),
  flow('An order is paid', 'Take an order, mark it as paid, and check that it says so.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    click('button', 'Mark as paid'),
    expectText('The order is paid.'),
    expectText('Status Paid'),
  ]),
  flow('Back leads to the list', 'Open an order from the list and go back to the list.', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    click('link', 'Ada Archer'),
    expectText('Order of Ada Archer'),
    back,
    expectCount('link', 'New order', 1),
    expectCount('link', 'Ada Archer', 1),
  ]),
  flow('Half a cent is rounded up', 'Order an apple cake with 15 percent off and check that the total is €11.01.', [
    ...fillIn({ customer: 'Ada Archer', more: [type('spinbutton', 'Discount in percent', '15')] }),
    expectText('€11.01'),
    save,
    expectText('€11.01'),
  ]),
  flow('The search ignores case', 'Take an order for Ada Archer and find it by searching for "ada".', [
    ...takeOrder({ customer: 'Ada Archer' }),
    back,
    type('searchbox', 'Search', 'ada'),
    expectCount('link', 'Ada Archer', 1),
  ]),
  flow(
    'Who picks up needs no address',
    'Enter an address for a delivery, choose pick up after all, and check the order.',
    [
      ...fillIn({
        customer: 'Ada Archer',
        more: [
          select('combobox', 'Handover', 'Delivery'),
          type('textbox', 'Address', '1 Mill Lane'),
          select('combobox', 'Handover', 'Pick up'),
        ],
      }),
      save,
      expectText('The order is saved.'),
      expectNoText('1 Mill Lane'),
    ],
  ),
  flow(
    'The report adds up all orders',
    'As an admin, open the report and check that it adds up the orders of everybody, paid or not.',
    [click('link', 'Report'), expectText('Rye bread: 2'), expectText('€21.35')],
    'admin',
  ),
  flow('Users have no report', 'As a user, open the report by its address. It must say that only admins see it.', [
    expectText('No orders yet.'),
    open('/#/report'),
    expectText('Only admins see the report.'),
  ]),
  flow(
    'Signing out hides the order',
    'Take an order, sign out, and check that nothing of the order is left on the page.',
    [
      ...takeOrder({ customer: 'Ada Archer' }),
      click('button', 'Sign out'),
      expectText('Sign in'),
      expectNoText('Ada Archer'),
    ],
  ),
];

/** The flows, by name. */
export const shopFlows: ReadonlyMap<string, ShopFlow> = new Map(list.map((each) => [each.name, each]));

/** The sandbox model's plays. */
export const shopPlays: readonly TestPlay[] = list.map(({ goal, calls }) => ({
  goalPattern: new RegExp(`^${RegExp.escape(goal)}`),
  calls,
}));
