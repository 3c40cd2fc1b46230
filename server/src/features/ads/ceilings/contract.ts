// The API schemas for spending ceilings (docs/api/ads.md#ceilings).
import { z } from 'zod';
import { answer, body, count, described, integer, unstoredText } from '../../../kit/http/shapes.ts';

const maxMicros = 1_000_000_000_000_000;
const currency = 'The currency of the amounts, as an ISO 4217 code.';
const app = "The ceiling for each app's daily budgets, in millionths of the currency unit.";
const workspace = 'The ceiling for all daily budgets together.';

export const CeilingsChange = body({
  currency_code: described(unstoredText(1, 64), currency, 'EUR'),
  app_daily_micros: described(integer(0, maxMicros), app, 20_000_000),
  workspace_daily_micros: described(integer(0, maxMicros), workspace, 50_000_000),
});

export const Ceilings = answer('AdsCeilings', {
  currency_code: described(z.string(), currency, 'EUR'),
  app_daily_micros: described(count, app, 20_000_000),
  workspace_daily_micros: described(count, workspace, 50_000_000),
  is_default: described(z.boolean(), 'Whether the owner has not set them yet.'),
  budgeted_daily_micros: described(count, 'The daily budgets that count at present.', 15_000_000),
});
