// The price of a line and of a whole order, in cents.
import { discountPercent } from './discount.js';

export const priceOfLine = ({ cents, quantity }) =>
  Math.round((cents * quantity * (100 - discountPercent(quantity))) / 100);

export const priceOfOrder = (lines) => lines.reduce((sum, line) => sum + priceOfLine(line), 0);
