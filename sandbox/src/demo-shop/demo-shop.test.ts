// Tests the demo shop's variants: each patch matches exactly one passage, and each variant names an existing flow.
import { expect, it } from 'vitest';
import { shopFlows } from './flows.ts';
import { readShop } from './shop.ts';
import { renamedButton, slowPage, variants } from './variants.ts';

it('has at least twenty variants with different bugs', () => {
  expect(new Set(variants.map(({ bug }) => bug)).size).toBe(variants.length);
  expect(variants.length).toBeGreaterThanOrEqual(20);
});

it.each(variants)('$bug: the patch changes one file, and the flow exists', ({ patch, flow }) => {
  const [clean, patched] = [readShop(), readShop([patch])];
  const isChanged = ([path, text]: [string, string]) => clean.files.get(path) !== text;
  const changedSchemas = JSON.stringify(patched.schemas) === JSON.stringify(clean.schemas) ? 0 : 1;
  expect([...patched.files].filter(isChanged).length + changedSchemas).toBe(1);
  expect(shopFlows.get(flow)?.calls.some(({ name }) => name === 'assert')).toBe(true);
});

it('has a flow of its own for each bug, so each has a clean counterpart', () => {
  expect(new Set(variants.map(({ flow }) => flow)).size).toBe(variants.length);
});

it('refuses a patch that fits no passage', () => {
  expect(() => readShop([{ ...renamedButton, old_text: 'no such passage' }])).toThrow('0 passages');
  expect(readShop([renamedButton, slowPage]).files.get('public/index.html')).toContain('Take the order');
});
