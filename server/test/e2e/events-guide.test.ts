// Runs docs/guides/seeing-what-people-do.md as a reader would, and opens the saved chart in a real browser.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSteps } from '../support/guide.ts';
import { startBrowser } from './browser.ts';
import { repository, startDevelopment } from './dev.ts';

const text = await readFile(join(repository, 'docs/guides/seeing-what-people-do.md'), 'utf8');
const { guide, folder } = await startDevelopment();
const { visit } = await startBrowser();

describe('docs/guides/seeing-what-people-do.md', () => {
  it.each(readSteps(text))('line $line: the command prints what the guide says', (step) => guide.run(step));

  it('saves a chart that a browser draws', async () => {
    await visit(`file://${join(folder, 'orders.svg')}`, async (page) => {
      const drawn = await page.evaluate(`({
        root: document.documentElement.nodeName,
        faults: document.querySelectorAll('parsererror').length,
        bars: [...document.querySelectorAll('.bar')].map((bar) => bar.getBBox().height > 10),
        texts: [...document.querySelectorAll('.name')].map((name) => name.textContent),
      })`);
      expect(drawn).toEqual({
        root: 'svg',
        faults: 0,
        bars: [true],
        texts: ['orderscount', 'averageavg of properties.total, 1 not numeric'],
      });
    });
  });
});
