// Tests that ADS_DEFAULT_CURRENCY accepts every currency that campaign budgets can use. The setting has its own list,
// because settings must not depend on features.
import { expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { readConfig } from '../../src/config.ts';
import { budgets } from '../../src/features/ads/budgets/table.ts';

it.each(Object.keys(budgets))('ADS_DEFAULT_CURRENCY may be %s', (ADS_DEFAULT_CURRENCY) => {
  expect(readConfig({ ...newKeys(), ADS_DEFAULT_CURRENCY }).ADS_DEFAULT_CURRENCY).toBe(ADS_DEFAULT_CURRENCY);
});
