// What a customer pays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { priceOfLine, priceOfOrder } from '../src/price.js';

test('nine pieces have no discount', () => {
  assert.equal(priceOfLine({ cents: 420, quantity: 9 }), 3780);
});

test('ten pieces are 5 % cheaper', () => {
  assert.equal(priceOfLine({ cents: 420, quantity: 10 }), 3990);
});

test('fifty pieces are 10 % cheaper', () => {
  assert.equal(priceOfLine({ cents: 420, quantity: 50 }), 18900);
});

test('an order is the sum of its lines', () => {
  const lines = [
    { cents: 420, quantity: 2 },
    { cents: 195, quantity: 1 },
  ];
  assert.equal(priceOfOrder(lines), 1035);
});
